#pragma once
// Single elements of the quantised types with fifth bits (Q5_0, Q5_1) or with blocks of 256 (Q2_K
// to Q8_K). In the latter, element i lies in sub-block i / 32, or i / 16 where scales are of 16:
//
//   Q2_K  16 bytes scale | minimum << 4; 64 bytes q; f16 d, e
//   Q3_K  32 bytes of third bits; 64 bytes q; 12 bytes of scales; f16 d
//   Q4_K  f16 d, e; 12 bytes of scales and minima; 128 bytes q
//   Q5_K  f16 d, e; 12 bytes of scales and minima; 32 bytes of fifth bits; 128 bytes q
//   Q6_K  128 bytes of low nibbles; 64 bytes of high pairs; 16 signed scales; f16 d
//   Q8_K  f32 d; 256 signed bytes; 16 sums of 16 (i16), which are not read
//
// Source: ggml's format of GGUF tensors, as the PyPI package gguf dequantises it.

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "kernels/ref/half.h"
#include "tensor/dtype.h"

namespace godwit::ref {

inline int byte_at(const std::byte* data, std::int64_t index) {
  return std::to_integer<int>(data[index]);
}

/// scale * q - minimum; every product here is exact in f32.
struct SubBlock {
  float scale = 0.0F;
  float minimum = 0.0F;
};

/// Scale and minimum, 6 bits each, of sub-block `j` of 8 from the 12 bytes of Q4_K and Q5_K.
inline SubBlock packed_scales(const std::byte* block, int j) {
  const std::byte* packed = block + 4;
  int scale = byte_at(packed, j) & 63;
  int minimum = byte_at(packed, j + 4) & 63;
  if (j >= 4) {
    scale = (byte_at(packed, j + 4) & 15) | (byte_at(packed, j - 4) >> 6) << 4;
    minimum = byte_at(packed, j + 4) >> 4 | (byte_at(packed, j) >> 6) << 4;
  }
  return {.scale = half_at(block) * static_cast<float>(scale),
          .minimum = half_at(block + 2) * static_cast<float>(minimum)};
}

/// 6-bit scale of sub-block `j` of 16 from the 12 bytes of Q3_K.
inline int packed_scale(const std::byte* packed, int j) {
  const int low = byte_at(packed, j % 8) >> (j < 8 ? 0 : 4) & 15;
  const int high = byte_at(packed, 8 + j % 4) >> (2 * (j / 4)) & 3;
  return (low | high << 4) - 32;
}

/// Two bits of 64 bytes that hold 256 of them: 32 bytes hold 128 elements, 32 in each pair of bits.
inline int pair_of(const std::byte* data, int i) {
  return byte_at(data, i / 128 * 32 + i % 32) >> (i / 32 % 4 * 2) & 3;
}

/// Four bits of 128 bytes: 32 bytes hold 64 elements.
inline int nibble_of(const std::byte* data, int i) {
  return byte_at(data, i / 64 * 32 + i % 32) >> (i / 32 % 2 * 4) & 15;
}

inline float fifth_bit_element(DType dtype, const std::byte* block, int i) {
  const std::byte* fifths = block + (dtype == DType::kQ5_0 ? 2 : 4);
  const int low = byte_at(fifths, 4 + i % 16) >> (i < 16 ? 0 : 4) & 15;
  const int q = low | (byte_at(fifths, i / 8) >> (i % 8) & 1) << 4;
  if (dtype == DType::kQ5_0) {
    return half_at(block) * static_cast<float>(q - 16);
  }
  return half_at(block) * static_cast<float>(q) + half_at(block + 2);
}

/// Element i of a block of 256.
inline float super_block_element(DType dtype, const std::byte* block, int i) {
  switch (dtype) {
    case DType::kQ2_K: {
      const int scales = byte_at(block, i / 16);
      return half_at(block + 80) * static_cast<float>(scales & 15) *
                 static_cast<float>(pair_of(block + 16, i)) -
             half_at(block + 82) * static_cast<float>(scales >> 4);
    }
    case DType::kQ3_K: {
      const int third = byte_at(block, i % 32) >> (i / 32) & 1;
      const int q = (pair_of(block + 32, i) | third << 2) - 4;
      return half_at(block + 108) * static_cast<float>(packed_scale(block + 96, i / 16)) *
             static_cast<float>(q);
    }
    case DType::kQ4_K:
    case DType::kQ5_K: {
      const SubBlock sub = packed_scales(block, i / 32);
      int q = nibble_of(block + (dtype == DType::kQ4_K ? 16 : 48), i);
      if (dtype == DType::kQ5_K) {
        q |= (byte_at(block, 16 + i % 32) >> (i / 32) & 1) << 4;
      }
      return sub.scale * static_cast<float>(q) - sub.minimum;
    }
    case DType::kQ6_K: {
      // 64 bytes of nibbles hold 128 elements: the low ones of 64, then the high ones.
      const int low = byte_at(block, i / 128 * 64 + i % 64) >> (i / 64 % 2 * 4) & 15;
      const int q = (low | pair_of(block + 128, i) << 4) - 32;
      return half_at(block + 208) *
             static_cast<float>(std::to_integer<std::int8_t>(block[192 + i / 16])) *
             static_cast<float>(q);
    }
    default:
      CHECK(dtype == DType::kQ8_K);
      return load<float>(block) * static_cast<float>(std::to_integer<std::int8_t>(block[4 + i]));
  }
}

}  // namespace godwit::ref
