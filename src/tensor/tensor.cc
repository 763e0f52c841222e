#include "tensor/tensor.h"

#include <algorithm>

#include "base/check.h"

namespace godwit {
namespace {

void set_row_major(Tensor& tensor) {
  std::int64_t stride = 1;
  for (int axis = tensor.rank - 1; axis >= 0; --axis) {
    tensor.strides[static_cast<std::size_t>(axis)] = stride;
    stride *= tensor.dim(axis);
  }
}

std::size_t offset_bytes(DType dtype, std::int64_t elements) {
  const auto bytes = storage_bytes(dtype, elements);
  CHECK(bytes.has_value());
  return *bytes;
}

}  // namespace

Tensor Tensor::contiguous(void* data, DType dtype, std::initializer_list<std::int64_t> shape) {
  CHECK_LE(shape.size(), static_cast<std::size_t>(kMaxRank));
  Tensor tensor{.data = data, .dtype = dtype, .rank = static_cast<int>(shape.size())};
  std::size_t axis = 0;
  for (const std::int64_t size : shape) {
    CHECK_GE(size, 0);
    tensor.shape[axis++] = size;
  }
  set_row_major(tensor);
  return tensor;
}

std::int64_t Tensor::elements() const {
  std::int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    count *= dim(axis);
  }
  return count;
}

std::size_t Tensor::bytes() const {
  return offset_bytes(dtype, elements());
}

bool Tensor::is_contiguous() const {
  std::int64_t expected = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (dim(axis) != 1 && stride(axis) != expected) {
      return false;
    }
    expected *= dim(axis);
  }
  return true;
}

Tensor Tensor::slice(int axis, std::int64_t begin, std::int64_t count) const {
  CHECK_LT(axis, rank);
  CHECK_GE(begin, 0);
  CHECK_GE(count, 0);
  CHECK_LE(begin + count, dim(axis));
  Tensor view = *this;
  view.shape[static_cast<std::size_t>(axis)] = count;
  view.data = static_cast<std::byte*>(data) + offset_bytes(dtype, begin * stride(axis));
  return view;
}

Tensor Tensor::entry(std::int64_t index) const {
  CHECK_GT(rank, 1);
  Tensor view = slice(0, index, 1);
  std::shift_left(view.shape.begin(), view.shape.end(), 1);
  std::shift_left(view.strides.begin(), view.strides.end(), 1);
  view.rank = rank - 1;
  return view;
}

Tensor Tensor::reshape(std::initializer_list<std::int64_t> new_shape) const {
  CHECK(is_contiguous());
  const Tensor view = contiguous(data, dtype, new_shape);
  CHECK_EQ(view.elements(), elements());
  return view;
}

Tensor Tensor::split_last(std::int64_t inner) const {
  CHECK_GT(rank, 0);
  CHECK_LT(rank, kMaxRank);
  CHECK_GT(inner, 0);
  CHECK_EQ(dim(rank - 1) % inner, 0);
  CHECK_EQ(stride(rank - 1), 1);
  Tensor view = *this;
  const auto last = static_cast<std::size_t>(rank - 1);
  view.shape[last] = dim(rank - 1) / inner;
  view.strides[last] = inner;
  view.shape[last + 1] = inner;
  view.strides[last + 1] = 1;
  view.rank = rank + 1;
  return view;
}

std::string to_string(const Tensor& tensor) {
  std::string text(to_string(tensor.dtype));
  text += '[';
  for (int axis = 0; axis < tensor.rank; ++axis) {
    text += axis == 0 ? "" : ", ";
    text += std::to_string(tensor.dim(axis));
  }
  return text + ']';
}

}  // namespace godwit
