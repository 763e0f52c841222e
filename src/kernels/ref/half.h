#pragma once
// Bits of numbers: what the formats of elements are made of.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace godwit::ref {

inline float float_from_bits(std::uint32_t bits) {
  float value = 0.0F;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

template <class T>
T load(const std::byte* data) {
  T value{};
  std::memcpy(&value, data, sizeof(value));
  return value;
}

/// IEEE binary16 widened exactly.
inline float half_to_float(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1f;
  const int mantissa = half & 0x3ff;
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  if (exponent == 31) {
    return float_from_bits(sign | 0x7f800000U | static_cast<std::uint32_t>(mantissa) << 13);
  }
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -24)
                              : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return float_from_bits(bits_of(magnitude) | sign);
}

inline float half_at(const std::byte* data) {
  return half_to_float(load<std::uint16_t>(data));
}

}  // namespace godwit::ref
