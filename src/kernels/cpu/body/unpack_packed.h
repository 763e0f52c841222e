// The types that quantised safetensors are repacked to, as units of 32 signed bytes; what
// unpack_quant.h says holds here. Included after body/gemm_units.h.

#include "kernels/cpu/body/exponents.h"

namespace godwit::cpu {
namespace {

/// Added to codes that lie 128 too high: bytes as ByteUnits wants them.
inline I32x16 byte_sign() {
  return kByteOffset == 0 ? splat_int(INT32_MIN | 0x00808080) : splat_int(0);
}

/// 4-bit codes less a zero point of 0..16; kParts * 32 share a scale.
template <int kParts>
struct I4 {
  using Units = ByteUnits;
  static constexpr int kBytes = 4 + 16 * kParts;
  static constexpr int kBlocks = kParts;
  static void unpack(const std::uint8_t* first, std::int64_t row_bytes, const Unpacked& to) {
    alignas(64) std::int32_t zeros[16];
    for (int n = 0; n < 16; ++n) {
      zeros[n] = first[n * row_bytes + 2] * 0x01010101;
    }
    // No byte carries: codes are at most 15 and what is added at most 128.
    const I32x16 added =
        splat_int(INT32_MIN | 0x00808080) - load_group(reinterpret_cast<std::uint8_t*>(zeros));
    const I32x16 low = each_byte(15);
    const I32x16 sign = byte_sign();
    const F32x16 scale = load_scales(first, row_bytes);
    for (int part = 0; part < kParts; ++part) {
      I32x16 nibbles[4];
      load_columns(first + 4 + 16 * part, row_bytes, nibbles);
      std::uint8_t* codes = to.weights + part * 512;
      for (int g = 0; g < 4; ++g) {
        store_group(codes + g * 64, ((nibbles[g] & low) + added) ^ sign);
        store_group(codes + (4 + g) * 64, (bits_of_bytes(nibbles[g], 4, low) + added) ^ sign);
      }
      store_scales(to.scales, part, scale);
    }
  }
};

/// Signed bytes; kParts * 32 share a scale.
template <int kParts>
struct I8 {
  using Units = ByteUnits;
  static constexpr int kBytes = 4 + 32 * kParts;
  static constexpr int kBlocks = kParts;
  static void unpack(const std::uint8_t* first, std::int64_t row_bytes, const Unpacked& to) {
    const I32x16 sign = kByteOffset == 0 ? splat_int(0) : splat_int(INT32_MIN | 0x00808080);
    alignas(64) std::int32_t scales[16];
    for (int n = 0; n < 16; ++n) {
      __builtin_memcpy(&scales[n], first + n * row_bytes, sizeof(scales[n]));
    }
    const F32x16 scale = floats(load_group(reinterpret_cast<std::uint8_t*>(scales)));
    for (int part = 0; part < kParts; ++part) {
      const RowBytes bytes = load_rows(first + 4 + 32 * part, row_bytes);
      for (int g = 0; g < 8; ++g) {
        store_group(to.weights + part * 512 + g * 64, bytes.group[g] ^ sign);
      }
      store_scales(to.scales, part, scale);
    }
  }
};

/// Codes of E2M1 become twice their values: 0, 1, 2, 3, 4, 6, 8, 12.
struct Mxfp4 {
  using Units = ByteUnits;
  static constexpr int kBytes = 17;
  static constexpr int kBlocks = 1;
  static I32x16 bytes_of(const I32x16& codes) {
    const I32x16 one = each_byte(1);
    const I32x16 bit0 = codes & one;
    const I32x16 bit1 = bits_of_bytes(codes, 1, one);
    const I32x16 bit2 = bits_of_bytes(codes, 2, one);
    const I32x16 five = bit2 & bit0;
    const I32x16 six = bit2 & bit1;
    const I32x16 value = (codes & each_byte(7)) + five + shift_left<1>(six + (six & five));
    const I32x16 negative = bits_of_bytes(codes, 3, one);
    const I32x16 mask = shift_left<4>(negative) - negative;
    const I32x16 middle = splat_int(INT32_MIN | 0x00808080);
    return (middle + value - shift_left<1>(value & mask)) ^ byte_sign();
  }
  static void unpack(const std::uint8_t* first, std::int64_t row_bytes, const Unpacked& to) {
    I32x16 nibbles[4];
    load_columns(first + 1, row_bytes, nibbles);
    const I32x16 low = each_byte(15);
    for (int g = 0; g < 4; ++g) {
      store_group(to.weights + g * 64, bytes_of(nibbles[g] & low));
      store_group(to.weights + (4 + g) * 64, bytes_of(bits_of_bytes(nibbles[g], 4, low)));
    }
    for (int n = 0; n < 16; ++n) {
      to.scales[n] = half_of_exponent(first[n * row_bytes]);
    }
  }
};

}  // namespace
}  // namespace godwit::cpu
