#pragma once
// A view of an array in a device's memory. It never owns; `Buffer` (device/) does.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "tensor/dtype.h"

namespace godwit {

/// Pointer, element type, up to six dimensions and their strides. Trivially copyable.
///
/// Units: shape and strides count elements. The last dimension of a quantised tensor is contiguous
/// and a multiple of the block; its other strides are multiples of the block too.
struct Tensor {
  static constexpr int kMaxRank = 6;

  void* data = nullptr;  ///< Device memory: only kernels and copies may follow it.
  DType dtype = DType::kF32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};

  /// A view with row-major strides.
  static Tensor contiguous(void* data, DType dtype, std::initializer_list<std::int64_t> shape);

  [[nodiscard]] bool empty() const { return data == nullptr; }
  [[nodiscard]] std::int64_t dim(int axis) const { return shape[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] std::int64_t stride(int axis) const {
    return strides[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] std::int64_t elements() const;
  /// Bytes of a contiguous tensor of this shape.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] bool is_contiguous() const;

  /// Elements [begin, begin + count) along `axis`. CHECKs the range and, on the last axis of a
  /// quantised tensor, the block boundary.
  [[nodiscard]] Tensor slice(int axis, std::int64_t begin, std::int64_t count) const;
  /// Entry `index` of axis 0, without that axis: a row of a matrix, a matrix of a stack.
  [[nodiscard]] Tensor entry(std::int64_t index) const;
  /// The same elements of a contiguous tensor in another shape.
  [[nodiscard]] Tensor reshape(std::initializer_list<std::int64_t> new_shape) const;
  /// Splits the last axis in two: [..., n] becomes [..., n / inner, inner]. Strides may be any.
  [[nodiscard]] Tensor split_last(std::int64_t inner) const;
};

/// "f32[3, 64]", for messages.
std::string to_string(const Tensor& tensor);

}  // namespace godwit
