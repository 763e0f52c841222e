#include "ops/shape_check.h"

#include <algorithm>

namespace godwit {
namespace {

bool last_is_contiguous(const Tensor& tensor) {
  return tensor.rank == 0 || tensor.dim(tensor.rank - 1) <= 1 ||
         tensor.stride(tensor.rank - 1) == 1;
}

}  // namespace

ShapeCheck& ShapeCheck::shape(const char* name, const Tensor& tensor,
                              std::initializer_list<std::int64_t> expected) {
  bool same = tensor.rank == static_cast<int>(expected.size()) && last_is_contiguous(tensor);
  int axis = 0;
  for (const std::int64_t size : expected) {
    same = same && (size == kAny || tensor.dim(axis) == size);
    ++axis;
  }
  if (!same) {
    std::string text = "[";
    for (const std::int64_t size : expected) {
      text += text.size() > 1 ? ", " : "";
      text += size == kAny ? "any" : std::to_string(size);
    }
    fail(std::string(name) + " is " + to_string(tensor) + ", expected " + text + "]");
  }
  return *this;
}

ShapeCheck& ShapeCheck::same_shape(const char* name, const Tensor& tensor, const Tensor& other) {
  bool same = tensor.rank == other.rank && last_is_contiguous(tensor);
  for (int axis = 0; same && axis < tensor.rank; ++axis) {
    same = tensor.dim(axis) == other.dim(axis);
  }
  if (!same) {
    fail(std::string(name) + " is " + to_string(tensor) + ", expected the shape of " +
         to_string(other));
  }
  return *this;
}

ShapeCheck& ShapeCheck::dtype(const char* name, const Tensor& tensor,
                              std::initializer_list<DType> allowed) {
  if (std::find(allowed.begin(), allowed.end(), tensor.dtype) == allowed.end()) {
    fail(std::string(name) + " has the type " + std::string(to_string(tensor.dtype)));
  }
  return *this;
}

ShapeCheck& ShapeCheck::weight(const char* name, const Tensor& tensor) {
  return dtype(
      name, tensor,
      {DType::kF32,    DType::kF16,   DType::kBF16,  DType::kQ8_0,  DType::kQ4_0,   DType::kQ4_1,
       DType::kQ5_0,   DType::kQ5_1,  DType::kQ2_K,  DType::kQ3_K,  DType::kQ4_K,   DType::kQ5_K,
       DType::kQ6_K,   DType::kQ8_K,  DType::kI4_32, DType::kI4_64, DType::kI4_128, DType::kI8_32,
       DType::kI8_128, DType::kMxfp4, DType::kF8_32, DType::kF8_128});
}

ShapeCheck& ShapeCheck::require(bool holds, const char* what) {
  if (!holds) {
    fail(what);
  }
  return *this;
}

ShapeCheck& ShapeCheck::kernel(bool present, const char* device) {
  if (!present && status_.ok()) {
    status_ = unimplemented(std::string("the device ") + device + " has no kernel for " + op_);
  }
  return *this;
}

void ShapeCheck::fail(const std::string& what) {
  if (status_.ok()) {
    status_ = internal_error(std::string("op ") + op_ + ": " + what);
  }
}

}  // namespace godwit
