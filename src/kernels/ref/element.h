#pragma once
// Reading and writing single elements of tensors, whatever their type.

#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "kernels/ref/half.h"
#include "kernels/ref/packed_blocks.h"
#include "kernels/ref/super_blocks.h"
#include "tensor/tensor.h"

namespace godwit::ref {

inline float bfloat_to_float(std::uint16_t value) {
  return float_from_bits(static_cast<std::uint32_t>(value) << 16);
}

/// Rounds to nearest, ties to even; a NaN stays a (quiet) NaN.
inline std::uint16_t float_to_bfloat(float value) {
  const std::uint32_t bits = bits_of(value);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  }
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// Element `index` of the blocks or elements that start at `data`, exactly.
inline double element(DType dtype, const std::byte* data, std::int64_t index) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<double>(load<float>(data + index * 4));
    case DType::kF16:
      return static_cast<double>(half_to_float(load<std::uint16_t>(data + index * 2)));
    case DType::kBF16:
      return static_cast<double>(bfloat_to_float(load<std::uint16_t>(data + index * 2)));
    default:
      break;
  }
  const std::int64_t together = block_elements(dtype);
  const std::byte* block = data + index / together * static_cast<std::int64_t>(block_bytes(dtype));
  const std::int64_t i = index % together;
  if (dtype >= DType::kI4_32) {
    return static_cast<double>(packed_element(dtype, block, i));
  }
  if (together == 256) {
    return static_cast<double>(super_block_element(dtype, block, static_cast<int>(i)));
  }
  if (dtype == DType::kQ5_0 || dtype == DType::kQ5_1) {
    return static_cast<double>(fifth_bit_element(dtype, block, static_cast<int>(i)));
  }
  const float d = half_at(block);
  if (dtype == DType::kQ8_0) {
    return static_cast<double>(d * static_cast<float>(load<std::int8_t>(block + 2 + i)));
  }
  CHECK(dtype == DType::kQ4_0 || dtype == DType::kQ4_1);
  const std::byte* nibbles = block + (dtype == DType::kQ4_0 ? 2 : 4);
  const int byte = std::to_integer<int>(nibbles[i % 16]);
  const int q = i < 16 ? byte & 15 : byte >> 4;
  if (dtype == DType::kQ4_0) {
    return static_cast<double>(d * static_cast<float>(q - 8));
  }
  const float m = half_at(block + 2);
  return static_cast<double>(std::fma(d, static_cast<float>(q), m));
}

/// Start of row `row` (axis 0) of a tensor of rank 1 or 2.
inline const std::byte* row_data(const Tensor& tensor, std::int64_t row) {
  return static_cast<const std::byte*>(tensor.data) +
         row * tensor.stride(0) / block_elements(tensor.dtype) *
             static_cast<std::int64_t>(block_bytes(tensor.dtype));
}

/// Element `index` of a one-dimensional tensor of 32-bit or 64-bit values.
template <class T>
T at(const Tensor& tensor, std::int64_t index) {
  return static_cast<const T*>(tensor.data)[index * tensor.stride(0)];
}

inline float* float_row(const Tensor& tensor, std::int64_t row) {
  return static_cast<float*>(tensor.data) + row * tensor.stride(0);
}

}  // namespace godwit::ref
