// Scales that are powers of two. Included after a simd/ header.

namespace godwit::cpu {
namespace {

/// 2^(exponent - 127) / 2, of which the two least are subnormal.
inline float half_of_exponent(std::uint8_t exponent) {
  const std::uint32_t bits = exponent >= 2 ? (exponent - 1U) << 23U : 0x00200000U << exponent;
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace
}  // namespace godwit::cpu
