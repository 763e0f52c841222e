#pragma once
// Sixteen lanes in plain C++. Everything has internal linkage: see isa_kernels.h.

#include <cstdint>

#include "kernels/cpu/isa_kernels.h"

namespace godwit::cpu {
namespace {

struct F32x16 {
  float lane[16];
};
struct I32x16 {
  std::int32_t lane[16];
};

/// Bytes are multiplied as they are, without an offset; see Packed.
constexpr std::int32_t kByteOffset = 0;

template <class Function>
inline F32x16 each(const Function& function) {
  F32x16 result;
  for (int i = 0; i < 16; ++i) {
    result.lane[i] = function(i);
  }
  return result;
}
template <class Function>
inline I32x16 each_int(const Function& function) {
  I32x16 result;
  for (int i = 0; i < 16; ++i) {
    result.lane[i] = function(i);
  }
  return result;
}

inline std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}
inline float float_of(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

inline float widen(float value) {
  return value;
}
inline float widen(BFloat value) {
  return float_of(static_cast<std::uint32_t>(value.bits) << 16);
}
inline float widen(Half value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7fff) << 13;
  if (magnitude >= 0x0f800000) {  // Infinity and NaN; a NaN is made quiet, as the processor does.
    const std::uint32_t quiet = magnitude > 0x0f800000 ? 0x00400000 : 0;
    return float_of(sign | 0x70000000 | magnitude | quiet);
  }
  // A power of two rebiases the exponent, of subnormal values too.
  return float_of(sign | bits_of(float_of(magnitude) * 0x1p112F));
}
inline std::uint16_t narrow_bfloat(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffff) > 0x7f800000) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  }
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline F32x16 splat(float value) {
  return each([&](int) { return value; });
}
template <class T>
inline F32x16 load(const T* from) {
  return each([&](int i) { return widen(from[i]); });
}
template <class T>
inline F32x16 load(const T* from, std::int64_t count) {
  return each([&](int i) { return i < count ? widen(from[i]) : 0.0F; });
}
inline void store(float* to, const F32x16& v) {
  for (int i = 0; i < 16; ++i) {
    to[i] = v.lane[i];
  }
}
inline void store(float* to, const F32x16& v, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    to[i] = v.lane[i];
  }
}
inline void store(BFloat* to, const F32x16& v) {
  for (int i = 0; i < 16; ++i) {
    to[i].bits = narrow_bfloat(v.lane[i]);
  }
}

inline F32x16 operator+(const F32x16& a, const F32x16& b) {
  return each([&](int i) { return a.lane[i] + b.lane[i]; });
}
inline F32x16 operator-(const F32x16& a, const F32x16& b) {
  return each([&](int i) { return a.lane[i] - b.lane[i]; });
}
inline F32x16 operator*(const F32x16& a, const F32x16& b) {
  return each([&](int i) { return a.lane[i] * b.lane[i]; });
}
inline F32x16 operator/(const F32x16& a, const F32x16& b) {
  return each([&](int i) { return a.lane[i] / b.lane[i]; });
}
inline F32x16 fma(const F32x16& a, const F32x16& b, const F32x16& c) {
  return each([&](int i) { return __builtin_fmaf(a.lane[i], b.lane[i], c.lane[i]); });
}
/// b where a or b is NaN, as all of max and min here.
inline F32x16 max(const F32x16& a, const F32x16& b) {
  return each([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline F32x16 min(const F32x16& a, const F32x16& b) {
  return each([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline float max_lane(const F32x16& v) {
  float result = v.lane[0];
  for (int i = 1; i < 16; ++i) {
    result = v.lane[i] > result ? v.lane[i] : result;
  }
  return result;
}
/// v in the lanes [begin, end), other elsewhere.
inline F32x16 select_range(const F32x16& v, std::int64_t begin, std::int64_t end,
                           const F32x16& other) {
  return each([&](int i) { return i >= begin && i < end ? v.lane[i] : other.lane[i]; });
}
/// The one order in which lanes are added: halves onto each other, four times.
inline float sum(const F32x16& v) {
  float part[8];
  for (int i = 0; i < 8; ++i) {
    part[i] = v.lane[i] + v.lane[i + 8];
  }
  for (int half = 4; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) {
      part[i] = part[i] + part[i + half];
    }
  }
  return part[0];
}
/// Lane i is sum(v[i]).
inline F32x16 sum_each(const F32x16 (&v)[16]) {
  return each([&](int i) { return sum(v[i]); });
}
inline void transpose(F32x16 (&v)[16]) {
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < i; ++j) {
      const float swapped = v[i].lane[j];
      v[i].lane[j] = v[j].lane[i];
      v[j].lane[i] = swapped;
    }
  }
}
/// A bit for each lane with a > b.
inline std::uint32_t above(const F32x16& a, const F32x16& b) {
  std::uint32_t mask = 0;
  for (int i = 0; i < 16; ++i) {
    mask |= (a.lane[i] > b.lane[i] ? 1U : 0U) << i;
  }
  return mask;
}
inline std::uint32_t equal(const F32x16& a, const F32x16& b) {
  std::uint32_t mask = 0;
  for (int i = 0; i < 16; ++i) {
    mask |= (a.lane[i] == b.lane[i] ? 1U : 0U) << i;
  }
  return mask;
}
/// Adds the lanes 0..7 and 8..15 to eight sums.
inline void add_to_doubles(const F32x16& v, double (&sums)[8]) {
  for (int i = 0; i < 8; ++i) {
    sums[i] += static_cast<double>(v.lane[i]);
  }
  for (int i = 0; i < 8; ++i) {
    sums[i] += static_cast<double>(v.lane[i + 8]);
  }
}

inline I32x16 splat_int(std::int32_t value) {
  return each_int([&](int) { return value; });
}
inline I32x16 bits(const F32x16& v) {
  return each_int([&](int i) { return __builtin_bit_cast(std::int32_t, v.lane[i]); });
}
inline F32x16 floats(const I32x16& v) {
  return each([&](int i) { return __builtin_bit_cast(float, v.lane[i]); });
}
inline F32x16 to_float(const I32x16& v) {
  return each([&](int i) { return static_cast<float>(v.lane[i]); });
}
inline std::int32_t wrapped(std::uint32_t value) {
  return static_cast<std::int32_t>(value);
}
inline I32x16 operator+(const I32x16& a, const I32x16& b) {
  return each_int([&](int i) {
    return wrapped(static_cast<std::uint32_t>(a.lane[i]) + static_cast<std::uint32_t>(b.lane[i]));
  });
}
inline I32x16 operator-(const I32x16& a, const I32x16& b) {
  return each_int([&](int i) {
    return wrapped(static_cast<std::uint32_t>(a.lane[i]) - static_cast<std::uint32_t>(b.lane[i]));
  });
}
inline I32x16 operator&(const I32x16& a, const I32x16& b) {
  return each_int([&](int i) { return a.lane[i] & b.lane[i]; });
}
inline I32x16 operator^(const I32x16& a, const I32x16& b) {
  return each_int([&](int i) { return a.lane[i] ^ b.lane[i]; });
}
inline I32x16 max(const I32x16& a, const I32x16& b) {
  return each_int([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
template <int kBits>
inline I32x16 shift_left(const I32x16& v) {
  return each_int([&](int i) { return wrapped(static_cast<std::uint32_t>(v.lane[i]) << kBits); });
}
template <int kBits>
inline I32x16 shift_right(const I32x16& v) {
  return each_int([&](int i) { return v.lane[i] >> kBits; });
}
inline I32x16 shift_right(const I32x16& v, int count) {
  return each_int([&](int i) { return v.lane[i] >> count; });
}
inline std::int32_t max_lane(const I32x16& v) {
  std::int32_t result = v.lane[0];
  for (int i = 1; i < 16; ++i) {
    result = v.lane[i] > result ? v.lane[i] : result;
  }
  return result;
}
inline std::int32_t sum(const I32x16& v) {
  std::uint32_t result = 0;
  for (int i = 0; i < 16; ++i) {
    result += static_cast<std::uint32_t>(v.lane[i]);
  }
  return wrapped(result);
}
/// The low byte of each lane.
inline void store_bytes(std::int8_t* to, const I32x16& v) {
  for (int i = 0; i < 16; ++i) {
    to[i] = static_cast<std::int8_t>(static_cast<std::uint8_t>(v.lane[i] & 0xff));
  }
}
inline F32x16 load_bytes(const std::int8_t* from) {
  return each([&](int i) { return static_cast<float>(from[i]); });
}
inline I32x16 load_unsigned_bytes(const std::uint8_t* from) {
  return each_int([&](int i) { return static_cast<std::int32_t>(from[i]); });
}
/// The low (high) nibbles of 16 bytes.
inline F32x16 load_low_nibbles(const std::uint8_t* from) {
  return each([&](int i) { return static_cast<float>(from[i] & 15); });
}
inline F32x16 load_high_nibbles(const std::uint8_t* from) {
  return each([&](int i) { return static_cast<float>(from[i] >> 4); });
}

/// One block of 32 weights of 16 rows: group g holds bytes 4g..4g+3 of row 0, of row 1, ...
struct Packed {
  std::uint8_t group[8][64];
};

inline Packed unpack_nibbles(const std::uint8_t* first, std::int64_t row_bytes) {
  Packed packed;
  for (int n = 0; n < 16; ++n) {
    for (int i = 0; i < 16; ++i) {
      const std::uint8_t byte = first[n * row_bytes + i];
      packed.group[i / 4][n * 4 + i % 4] = static_cast<std::uint8_t>(byte & 15);
      packed.group[4 + i / 4][n * 4 + i % 4] = static_cast<std::uint8_t>(byte >> 4);
    }
  }
  return packed;
}
inline Packed unpack_bytes(const std::uint8_t* first, std::int64_t row_bytes) {
  Packed packed;
  for (int n = 0; n < 16; ++n) {
    for (int i = 0; i < 32; ++i) {
      packed.group[i / 4][n * 4 + i % 4] = first[n * row_bytes + i];
    }
  }
  return packed;
}
inline void store(std::uint8_t* to, const Packed& packed) {
  __builtin_memcpy(to, &packed, sizeof(packed));
}
inline Packed load_packed(const std::uint8_t* from) {
  Packed packed;
  __builtin_memcpy(&packed, from, sizeof(packed));
  return packed;
}
/// start + the dot products of the 16 rows of weights, 0..15 each, with 32 inputs.
inline I32x16 dot_nibbles(const Packed& w, const std::int8_t* x, std::int32_t start) {
  return each_int([&](int n) {
    std::int32_t total = start;
    for (int i = 0; i < 32; ++i) {
      total += static_cast<std::int32_t>(w.group[i / 4][n * 4 + i % 4]) * x[i];
    }
    return total;
  });
}
/// The same of weights -128..127.
inline I32x16 dot_bytes(const Packed& w, const std::int8_t* x, std::int32_t start) {
  return each_int([&](int n) {
    std::int32_t total = start;
    for (int i = 0; i < 32; ++i) {
      total += static_cast<std::int8_t>(w.group[i / 4][n * 4 + i % 4]) * x[i];
    }
    return total;
  });
}
/// Lane n of word g is bytes 4g..4g+3 of the 16 bytes of row n.
inline void load_columns(const std::uint8_t* first, std::int64_t row_bytes, I32x16* words) {
  for (int g = 0; g < 4; ++g) {
    words[g] = each_int([&](int n) {
      std::int32_t word;
      __builtin_memcpy(&word, first + n * row_bytes + 4 * g, sizeof(word));
      return word;
    });
  }
}
inline void store_group(std::uint8_t* to, const I32x16& v) {
  __builtin_memcpy(to, &v, sizeof(v));
}
inline I32x16 load_group(const std::uint8_t* from) {
  I32x16 v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
/// start + the dot products of 16 rows of codes, four a lane and group, with 4 * kGroups inputs.
/// Codes are signed when kBits is 8, else less than 2^kBits.
template <int kBits, int kGroups>
inline I32x16 dot_codes(const I32x16 (&codes)[kGroups], const std::int8_t* x, std::int32_t start) {
  return each_int([&](int n) {
    std::int32_t total = start;
    for (int i = 0; i < 4 * kGroups; ++i) {
      const auto byte = static_cast<std::uint8_t>(
          static_cast<std::uint32_t>(codes[i / 4].lane[n]) >> (i % 4 * 8));
      total += (kBits == 8 ? static_cast<std::int8_t>(byte) : static_cast<int>(byte)) * x[i];
    }
    return total;
  });
}
/// The f16 at the start of 16 blocks.
inline F32x16 load_scales(const std::uint8_t* first, std::int64_t row_bytes) {
  return each([&](int n) {
    Half half;
    __builtin_memcpy(&half, first + n * row_bytes, sizeof(half));
    return widen(half);
  });
}
/// The two f16 at the start of 16 blocks.
inline void load_scale_pairs(const std::uint8_t* first, std::int64_t row_bytes, F32x16& scale,
                             F32x16& minimum) {
  scale = load_scales(first, row_bytes);
  minimum = load_scales(first + 2, row_bytes);
}

}  // namespace
}  // namespace godwit::cpu
