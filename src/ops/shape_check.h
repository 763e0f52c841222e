#pragma once
// Checks the operands of an op and remembers the first thing that is wrong.

#include <initializer_list>
#include <string>

#include "base/status.h"
#include "tensor/tensor.h"

namespace godwit {

/// `ShapeCheck("gemm").f32("x", x).shape("x", x, {rows, k}).status()`.
class ShapeCheck {
 public:
  explicit ShapeCheck(const char* op) : op_(op) {}

  /// Any size is accepted for a dimension given as kAny.
  static constexpr std::int64_t kAny = -1;

  /// Checks rank and dimensions, and that the last dimension is contiguous.
  ShapeCheck& shape(const char* name, const Tensor& tensor,
                    std::initializer_list<std::int64_t> expected);
  ShapeCheck& same_shape(const char* name, const Tensor& tensor, const Tensor& other);
  ShapeCheck& dtype(const char* name, const Tensor& tensor, std::initializer_list<DType> allowed);
  ShapeCheck& f32(const char* name, const Tensor& tensor) {
    return dtype(name, tensor, {DType::kF32});
  }
  ShapeCheck& i32(const char* name, const Tensor& tensor) {
    return dtype(name, tensor, {DType::kI32});
  }
  ShapeCheck& i64(const char* name, const Tensor& tensor) {
    return dtype(name, tensor, {DType::kI64});
  }
  /// Whether the type is one of those that matrices of weights have.
  ShapeCheck& weight(const char* name, const Tensor& tensor);
  ShapeCheck& require(bool holds, const char* what);
  /// Whether the device's table has this kernel.
  ShapeCheck& kernel(bool present, const char* device);

  [[nodiscard]] Status status() const { return status_; }

 private:
  void fail(const std::string& what);

  const char* op_;
  Status status_;
};

}  // namespace godwit
