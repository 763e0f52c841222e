#pragma once
// Sixteen lanes in one AVX-512 register (F, BW, DQ, VL, VNNI). The meaning of each function is in
// generic.h. Everything has internal linkage: see isa_kernels.h.

#include <immintrin.h>

#include "kernels/cpu/isa_kernels.h"

namespace godwit::cpu {
namespace {

struct F32x16 {
  __m512 v;
};
struct I32x16 {
  __m512i v;
};

/// Packed bytes are stored with 128 added, because vpdpbusd wants one unsigned factor.
constexpr std::int32_t kByteOffset = 128;

inline __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>((1U << count) - 1U);
}

inline F32x16 splat(float value) {
  return {_mm512_set1_ps(value)};
}
inline F32x16 load(const float* from) {
  return {_mm512_loadu_ps(from)};
}
inline F32x16 load(const float* from, std::int64_t count) {
  return {_mm512_maskz_loadu_ps(first_lanes(count), from)};
}
inline F32x16 widen_half(__m256i v) {
  return {_mm512_cvtph_ps(v)};
}
inline F32x16 widen_bfloat(__m256i v) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16))};
}
inline F32x16 load(const Half* from) {
  return widen_half(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
inline F32x16 load(const Half* from, std::int64_t count) {
  return widen_half(_mm256_maskz_loadu_epi16(first_lanes(count), from));
}
inline F32x16 load(const BFloat* from) {
  return widen_bfloat(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
inline F32x16 load(const BFloat* from, std::int64_t count) {
  return widen_bfloat(_mm256_maskz_loadu_epi16(first_lanes(count), from));
}
inline void store(float* to, F32x16 v) {
  _mm512_storeu_ps(to, v.v);
}
inline void store(float* to, F32x16 v, std::int64_t begin, std::int64_t end) {
  const auto mask = static_cast<__mmask16>(first_lanes(end) & ~first_lanes(begin));
  _mm512_mask_storeu_ps(to, mask, v.v);
}
inline void store(BFloat* to, F32x16 v) {
  const __m512i bits = _mm512_castps_si512(v.v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 nan = _mm512_cmp_ps_mask(v.v, v.v, _CMP_UNORD_Q);
  rounded = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
}

inline F32x16 operator+(F32x16 a, F32x16 b) {
  return {_mm512_add_ps(a.v, b.v)};
}
inline F32x16 operator-(F32x16 a, F32x16 b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
inline F32x16 operator*(F32x16 a, F32x16 b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
inline F32x16 operator/(F32x16 a, F32x16 b) {
  return {_mm512_div_ps(a.v, b.v)};
}
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
inline F32x16 max(F32x16 a, F32x16 b) {
  return {_mm512_max_ps(a.v, b.v)};
}
inline F32x16 min(F32x16 a, F32x16 b) {
  return {_mm512_min_ps(a.v, b.v)};
}
inline float max_lane(F32x16 v) {
  return _mm512_reduce_max_ps(v.v);
}
inline F32x16 select_range(F32x16 v, std::int64_t begin, std::int64_t end, F32x16 other) {
  const auto mask = static_cast<__mmask16>(first_lanes(end) & ~first_lanes(begin));
  return {_mm512_mask_blend_ps(mask, other.v, v.v)};
}
inline float sum(F32x16 v) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v.v), _mm512_extractf32x8_ps(v.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline F32x16 sum_each(const F32x16 (&v)[16]) {
  // Each level adds halves of two vectors side by side. Vector 4j + i ends in lane i of quarter j
  // when it enters at place 4i + j.
  __m512 eighths[8];
  for (int i = 0; i < 8; ++i) {
    const __m512 a = v[(2 * i) % 4 * 4 + (2 * i) / 4].v;
    const __m512 b = v[(2 * i + 1) % 4 * 4 + (2 * i + 1) / 4].v;
    eighths[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  }
  __m512 quarters[4];
  for (int i = 0; i < 4; ++i) {
    const __m512 a = eighths[2 * i];
    const __m512 b = eighths[2 * i + 1];
    quarters[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  }
  __m512 halves[2];
  for (int i = 0; i < 2; ++i) {
    const __m512 a = quarters[2 * i];
    const __m512 b = quarters[2 * i + 1];
    halves[i] = _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));
  }
  return {_mm512_add_ps(_mm512_shuffle_ps(halves[0], halves[1], 0x88),
                        _mm512_shuffle_ps(halves[0], halves[1], 0xdd))};
}
inline void transpose(F32x16 (&v)[16]) {
  __m512 t[16];
  for (int i = 0; i < 16; i += 4) {
    const __m512 a = _mm512_unpacklo_ps(v[i].v, v[i + 1].v);
    const __m512 b = _mm512_unpackhi_ps(v[i].v, v[i + 1].v);
    const __m512 c = _mm512_unpacklo_ps(v[i + 2].v, v[i + 3].v);
    const __m512 d = _mm512_unpackhi_ps(v[i + 2].v, v[i + 3].v);
    t[i] = _mm512_shuffle_ps(a, c, 0x44);
    t[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
    t[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
    t[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    const __m512 a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88);
    const __m512 b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
    const __m512 c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88);
    const __m512 d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
    v[i].v = _mm512_shuffle_f32x4(a, c, 0x88);
    v[i + 8].v = _mm512_shuffle_f32x4(a, c, 0xdd);
    v[i + 4].v = _mm512_shuffle_f32x4(b, d, 0x88);
    v[i + 12].v = _mm512_shuffle_f32x4(b, d, 0xdd);
  }
}
inline std::uint32_t above(F32x16 a, F32x16 b) {
  return _mm512_cmp_ps_mask(a.v, b.v, _CMP_GT_OQ);
}
inline std::uint32_t equal(F32x16 a, F32x16 b) {
  return _mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ);
}
inline void add_to_doubles(F32x16 v, double (&sums)[8]) {
  __m512d total = _mm512_loadu_pd(sums);
  total = _mm512_add_pd(total, _mm512_cvtps_pd(_mm512_castps512_ps256(v.v)));
  total = _mm512_add_pd(total, _mm512_cvtps_pd(_mm512_extractf32x8_ps(v.v, 1)));
  _mm512_storeu_pd(sums, total);
}

inline I32x16 splat_int(std::int32_t value) {
  return {_mm512_set1_epi32(value)};
}
inline I32x16 bits(F32x16 v) {
  return {_mm512_castps_si512(v.v)};
}
inline F32x16 floats(I32x16 v) {
  return {_mm512_castsi512_ps(v.v)};
}
inline F32x16 to_float(I32x16 v) {
  return {_mm512_cvtepi32_ps(v.v)};
}
inline I32x16 operator+(I32x16 a, I32x16 b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
inline I32x16 operator-(I32x16 a, I32x16 b) {
  return {_mm512_sub_epi32(a.v, b.v)};
}
inline I32x16 operator&(I32x16 a, I32x16 b) {
  return {_mm512_and_si512(a.v, b.v)};
}
inline I32x16 operator^(I32x16 a, I32x16 b) {
  return {_mm512_xor_si512(a.v, b.v)};
}
inline I32x16 max(I32x16 a, I32x16 b) {
  return {_mm512_max_epi32(a.v, b.v)};
}
template <int kBits>
inline I32x16 shift_left(I32x16 v) {
  return {_mm512_slli_epi32(v.v, kBits)};
}
template <int kBits>
inline I32x16 shift_right(I32x16 v) {
  return {_mm512_srai_epi32(v.v, kBits)};
}
inline I32x16 shift_right(I32x16 v, int count) {
  return {_mm512_srai_epi32(v.v, static_cast<unsigned>(count))};
}
inline std::int32_t max_lane(I32x16 v) {
  return _mm512_reduce_max_epi32(v.v);
}
inline std::int32_t sum(I32x16 v) {
  return _mm512_reduce_add_epi32(v.v);
}
inline void store_bytes(std::int8_t* to, I32x16 v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(v.v));
}
inline F32x16 load_bytes(const std::int8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))};
}
inline I32x16 load_unsigned_bytes(const std::uint8_t* from) {
  return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))};
}
inline F32x16 load_low_nibbles(const std::uint8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return {_mm512_cvtepi32_ps(_mm512_and_si512(_mm512_cvtepu8_epi32(bytes), _mm512_set1_epi32(15)))};
}
inline F32x16 load_high_nibbles(const std::uint8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return {_mm512_cvtepi32_ps(_mm512_srli_epi32(_mm512_cvtepu8_epi32(bytes), 4))};
}

struct Packed {
  __m512i group[8];
};

/// Sixteen bytes of rows i, 4 + i, 8 + i and 12 + i, one row a quarter.
inline __m512i load_quarters(const std::uint8_t* first, std::int64_t row_bytes, int i) {
  const auto row = [&](int n) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(first + n * row_bytes));
  };
  __m512i v = _mm512_castsi128_si512(row(i));
  v = _mm512_inserti32x4(v, row(4 + i), 1);
  v = _mm512_inserti32x4(v, row(8 + i), 2);
  return _mm512_inserti32x4(v, row(12 + i), 3);
}
/// Four groups from sixteen bytes of each of sixteen rows.
inline void group_dwords(const std::uint8_t* first, std::int64_t row_bytes, __m512i* group) {
  const __m512i r0 = load_quarters(first, row_bytes, 0);
  const __m512i r1 = load_quarters(first, row_bytes, 1);
  const __m512i r2 = load_quarters(first, row_bytes, 2);
  const __m512i r3 = load_quarters(first, row_bytes, 3);
  const __m512i a = _mm512_unpacklo_epi32(r0, r1);
  const __m512i b = _mm512_unpackhi_epi32(r0, r1);
  const __m512i c = _mm512_unpacklo_epi32(r2, r3);
  const __m512i d = _mm512_unpackhi_epi32(r2, r3);
  group[0] = _mm512_unpacklo_epi64(a, c);
  group[1] = _mm512_unpackhi_epi64(a, c);
  group[2] = _mm512_unpacklo_epi64(b, d);
  group[3] = _mm512_unpackhi_epi64(b, d);
}
inline void load_columns(const std::uint8_t* first, std::int64_t row_bytes, I32x16* words) {
  __m512i group[4];
  group_dwords(first, row_bytes, group);
  for (int g = 0; g < 4; ++g) {
    words[g].v = group[g];
  }
}
inline void store_group(std::uint8_t* to, I32x16 v) {
  _mm512_store_si512(to, v.v);
}
inline I32x16 load_group(const std::uint8_t* from) {
  return {_mm512_load_si512(from)};
}
inline Packed unpack_nibbles(const std::uint8_t* first, std::int64_t row_bytes) {
  __m512i both[4];
  group_dwords(first, row_bytes, both);
  const __m512i low = _mm512_set1_epi8(15);
  Packed packed;
  for (int g = 0; g < 4; ++g) {
    packed.group[g] = _mm512_and_si512(both[g], low);
    packed.group[4 + g] = _mm512_and_si512(_mm512_srli_epi16(both[g], 4), low);
  }
  return packed;
}
inline Packed unpack_bytes(const std::uint8_t* first, std::int64_t row_bytes) {
  Packed packed;
  group_dwords(first, row_bytes, packed.group);
  group_dwords(first + 16, row_bytes, packed.group + 4);
  const __m512i sign = _mm512_set1_epi8(-128);
  for (__m512i& group : packed.group) {
    group = _mm512_xor_si512(group, sign);
  }
  return packed;
}
inline void store(std::uint8_t* to, const Packed& packed) {
  for (int g = 0; g < 8; ++g) {
    _mm512_store_si512(to + g * 64, packed.group[g]);
  }
}
inline Packed load_packed(const std::uint8_t* from) {
  Packed packed;
  for (int g = 0; g < 8; ++g) {
    packed.group[g] = _mm512_load_si512(from + g * 64);
  }
  return packed;
}
inline I32x16 dot_nibbles(const Packed& w, const std::int8_t* x, std::int32_t start) {
  const auto four = [&](int g) {
    std::int32_t value;
    __builtin_memcpy(&value, x + 4 * g, sizeof(value));
    return _mm512_set1_epi32(value);
  };
  __m512i total = _mm512_set1_epi32(start);
  for (int g = 0; g < 8; ++g) {
    total = _mm512_dpbusd_epi32(total, w.group[g], four(g));
  }
  return {total};
}
template <int kBits, int kGroups>
inline I32x16 dot_codes(const I32x16 (&codes)[kGroups], const std::int8_t* x, std::int32_t start) {
  __m512i total = _mm512_set1_epi32(start);
  for (int g = 0; g < kGroups; ++g) {
    std::int32_t four;
    __builtin_memcpy(&four, x + 4 * g, sizeof(four));
    total = _mm512_dpbusd_epi32(total, codes[g].v, _mm512_set1_epi32(four));
  }
  return {total};
}
inline I32x16 dot_bytes(const Packed& w, const std::int8_t* x, std::int32_t start) {
  return dot_nibbles(w, x, start);
}
inline __m512i gather_dwords(const std::uint8_t* first, std::int64_t row_bytes) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i places = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(static_cast<int>(row_bytes)));
  return _mm512_i32gather_epi32(places, first, 1);
}
inline F32x16 load_scales(const std::uint8_t* first, std::int64_t row_bytes) {
  return widen_half(_mm512_cvtepi32_epi16(gather_dwords(first, row_bytes)));
}
inline void load_scale_pairs(const std::uint8_t* first, std::int64_t row_bytes, F32x16& scale,
                             F32x16& minimum) {
  const __m512i pairs = gather_dwords(first, row_bytes);
  scale = widen_half(_mm512_cvtepi32_epi16(pairs));
  minimum = widen_half(_mm512_cvtepi32_epi16(_mm512_srli_epi32(pairs, 16)));
}

}  // namespace
}  // namespace godwit::cpu
