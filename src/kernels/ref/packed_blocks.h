#pragma once
// Single elements of the types that quantised safetensors are repacked to (tensor/dtype.h).
// Sources: the OCP specifications of 8-bit floating point (E4M3) and of microscaling (E2M1).

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "kernels/ref/half.h"
#include "kernels/ref/super_blocks.h"
#include "tensor/dtype.h"

namespace godwit::ref {

inline float e4m3_to_float(int code) {
  const int exponent = code >> 3 & 15;
  const int fraction = code & 7;
  float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                              : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  if (exponent == 15 && fraction == 7) {
    value = std::numeric_limits<float>::quiet_NaN();
  }
  return (code & 128) != 0 ? -value : value;
}

inline float e2m1_to_float(int code) {
  constexpr std::array<float, 8> kValues = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
  const float value = kValues[static_cast<std::size_t>(code & 7)];
  return (code & 8) != 0 ? -value : value;
}

/// The code of element i where each 16 bytes hold 32 elements.
inline int nibble_in(const std::byte* data, std::int64_t i) {
  return byte_at(data, i / 32 * 16 + i % 16) >> (i % 32 < 16 ? 0 : 4) & 15;
}

/// Element i of a block of one of the types from I4 to F8.
inline float packed_element(DType dtype, const std::byte* block, std::int64_t i) {
  switch (dtype) {
    case DType::kI4_32:
    case DType::kI4_64:
    case DType::kI4_128:
      return half_at(block) * static_cast<float>(nibble_in(block + 4, i) - byte_at(block, 2));
    case DType::kMxfp4:
      return std::ldexp(e2m1_to_float(nibble_in(block + 1, i)), byte_at(block, 0) - 127);
    case DType::kI8_32:
    case DType::kI8_128:
      return load<float>(block) * static_cast<float>(std::to_integer<std::int8_t>(block[4 + i]));
    default:
      CHECK(dtype == DType::kF8_32 || dtype == DType::kF8_128);
      return load<float>(block) * e4m3_to_float(byte_at(block, 4 + i));
  }
}

}  // namespace godwit::ref
