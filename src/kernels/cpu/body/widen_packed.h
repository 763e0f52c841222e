// Rows of the types that quantised safetensors are repacked to, widened exactly, 16 elements at a
// time. Included after body/widen_quant.h.

#include "kernels/cpu/body/exponents.h"

namespace godwit::cpu {
namespace {

inline F32x16 splat_float(const std::uint8_t* from) {
  float value;
  __builtin_memcpy(&value, from, sizeof(value));
  return splat(value);
}

template <int kElements>
void widen_i4(const void* from, float* to, std::int64_t count) {
  const auto* block = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; i += kElements, block += 4 + kElements / 2) {
    const F32x16 scale = splat_half(block);
    const F32x16 zero = splat(static_cast<float>(block[2]));
    for (int part = 0; part < kElements; part += 32) {
      const std::uint8_t* nibbles = block + 4 + part / 2;
      store(to + i + part, scale * (load_low_nibbles(nibbles) - zero));
      store(to + i + part + 16, scale * (load_high_nibbles(nibbles) - zero));
    }
  }
}

template <int kElements>
void widen_i8(const void* from, float* to, std::int64_t count) {
  const auto* block = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; i += kElements, block += 4 + kElements) {
    const F32x16 scale = splat_float(block);
    for (int part = 0; part < kElements; part += 16) {
      const auto* q = reinterpret_cast<const std::int8_t*>(block + 4 + part);
      store(to + i + part, scale * load_bytes(q));
    }
  }
}

/// Twice the values of codes of E2M1; their sign is the fourth bit.
inline F32x16 twice_e2m1(const I32x16& codes) {
  const I32x16 one = splat_int(1);
  const I32x16 bit2 = shift_right<2>(codes) & one;
  const I32x16 five = bit2 & codes;
  const I32x16 six = bit2 & shift_right<1>(codes);
  const I32x16 value = (codes & splat_int(7)) + five + shift_left<1>(six + (six & five));
  return floats(bits(to_float(value)) ^ shift_left<28>(codes & splat_int(8)));
}

void widen_mxfp4(const void* from, float* to, std::int64_t count) {
  const auto* block = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; i += 32, block += 17) {
    const F32x16 scale = splat(half_of_exponent(block[0]));
    const I32x16 bytes = load_unsigned_bytes(block + 1);
    store(to + i, scale * twice_e2m1(bytes & splat_int(15)));
    store(to + i + 16, scale * twice_e2m1(shift_right<4>(bytes)));
  }
}

/// E4M3 without infinities: its bits, moved to where f32 has them, are too small by 2^120; a code
/// of all ones is a NaN.
inline F32x16 e4m3(const I32x16& codes) {
  const I32x16 magnitude = codes & splat_int(127);
  const I32x16 is_nan = shift_right<7>(magnitude + splat_int(1));
  const I32x16 value =
      shift_left<20>(magnitude) + ((splat_int(0) - is_nan) & splat_int(0x78000000));
  return floats(value ^ shift_left<24>(codes & splat_int(128))) * splat(0x1p120F);
}

template <int kElements>
void widen_f8(const void* from, float* to, std::int64_t count) {
  const auto* block = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; i += kElements, block += 4 + kElements) {
    const F32x16 scale = splat_float(block);
    for (int part = 0; part < kElements; part += 16) {
      store(to + i + part, scale * e4m3(load_unsigned_bytes(block + 4 + part)));
    }
  }
}

}  // namespace
}  // namespace godwit::cpu
