#pragma once
// Sixteen lanes in two AVX2 registers (AVX2, FMA, F16C). The meaning of each function is in
// generic.h. Everything has internal linkage: see isa_kernels.h.

#include <immintrin.h>

#include "kernels/cpu/isa_kernels.h"

namespace godwit::cpu {
namespace {

struct F32x16 {
  __m256 lo;
  __m256 hi;
};
struct I32x16 {
  __m256i lo;
  __m256i hi;
};

/// Packed bytes stay signed: see dot_bytes.
constexpr std::int32_t kByteOffset = 0;

/// All ones in the lanes below `count`, which may be negative or more than 8.
inline __m256i first_lanes(std::int64_t count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
}

inline F32x16 splat(float value) {
  return {_mm256_set1_ps(value), _mm256_set1_ps(value)};
}
inline F32x16 load(const float* from) {
  return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
}
inline F32x16 load(const float* from, std::int64_t count) {
  return {_mm256_maskload_ps(from, first_lanes(count)),
          _mm256_maskload_ps(from + 8, first_lanes(count - 8))};
}
inline __m128i load_words(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
inline F32x16 load(const Half* from) {
  return {_mm256_cvtph_ps(load_words(from)), _mm256_cvtph_ps(load_words(from + 8))};
}
inline __m256 widen_bfloat(__m128i v) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}
inline F32x16 load(const BFloat* from) {
  return {widen_bfloat(load_words(from)), widen_bfloat(load_words(from + 8))};
}
template <class T>
inline F32x16 load(const T* from, std::int64_t count) {
  T padded[16] = {};
  __builtin_memcpy(padded, from, static_cast<unsigned long>(count) * sizeof(T));
  return load(padded);
}
inline void store(float* to, F32x16 v) {
  _mm256_storeu_ps(to, v.lo);
  _mm256_storeu_ps(to + 8, v.hi);
}
inline void store(float* to, F32x16 v, std::int64_t begin, std::int64_t end) {
  _mm256_maskstore_ps(to, _mm256_andnot_si256(first_lanes(begin), first_lanes(end)), v.lo);
  _mm256_maskstore_ps(to + 8, _mm256_andnot_si256(first_lanes(begin - 8), first_lanes(end - 8)),
                      v.hi);
}
inline __m256i rounded_bfloat(__m256 v) {
  const __m256i bits = _mm256_castps_si256(v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
}
inline void store(BFloat* to, F32x16 v) {
  const __m256i mixed = _mm256_packus_epi32(rounded_bfloat(v.lo), rounded_bfloat(v.hi));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(mixed, 0xd8));
}

inline F32x16 operator+(F32x16 a, F32x16 b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
inline F32x16 operator-(F32x16 a, F32x16 b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
inline F32x16 operator*(F32x16 a, F32x16 b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
inline F32x16 operator/(F32x16 a, F32x16 b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline F32x16 max(F32x16 a, F32x16 b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
inline F32x16 min(F32x16 a, F32x16 b) {
  return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}
inline float max_lane(F32x16 v) {
  const __m256 eight = _mm256_max_ps(v.lo, v.hi);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
inline __m256 select_lanes(__m256 v, std::int64_t begin, std::int64_t end, __m256 other) {
  const __m256i mask = _mm256_andnot_si256(first_lanes(begin), first_lanes(end));
  return _mm256_blendv_ps(other, v, _mm256_castsi256_ps(mask));
}
inline F32x16 select_range(F32x16 v, std::int64_t begin, std::int64_t end, F32x16 other) {
  return {select_lanes(v.lo, begin, end, other.lo),
          select_lanes(v.hi, begin - 8, end - 8, other.hi)};
}
inline float sum(F32x16 v) {
  const __m256 eight = _mm256_add_ps(v.lo, v.hi);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline F32x16 sum_each(const F32x16 (&v)[16]) {
  float sums[16];
  for (int i = 0; i < 16; ++i) {
    sums[i] = sum(v[i]);
  }
  return load(sums);
}
/// Transposes 8 x 8.
inline void transpose_eight(__m256 (&v)[8]) {
  __m256 t[8];
  for (int i = 0; i < 8; i += 4) {
    const __m256 a = _mm256_unpacklo_ps(v[i], v[i + 1]);
    const __m256 b = _mm256_unpackhi_ps(v[i], v[i + 1]);
    const __m256 c = _mm256_unpacklo_ps(v[i + 2], v[i + 3]);
    const __m256 d = _mm256_unpackhi_ps(v[i + 2], v[i + 3]);
    t[i] = _mm256_shuffle_ps(a, c, 0x44);
    t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
    t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
    t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
    v[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
  }
}
inline void transpose(F32x16 (&v)[16]) {
  __m256 a[8];
  __m256 b[8];
  __m256 c[8];
  __m256 d[8];
  for (int i = 0; i < 8; ++i) {
    a[i] = v[i].lo;
    b[i] = v[i].hi;
    c[i] = v[i + 8].lo;
    d[i] = v[i + 8].hi;
  }
  transpose_eight(a);
  transpose_eight(b);
  transpose_eight(c);
  transpose_eight(d);
  for (int i = 0; i < 8; ++i) {
    v[i] = {a[i], c[i]};
    v[i + 8] = {b[i], d[i]};
  }
}
inline std::uint32_t mask_of(__m256 lo, __m256 hi) {
  return static_cast<std::uint32_t>(_mm256_movemask_ps(lo)) |
         static_cast<std::uint32_t>(_mm256_movemask_ps(hi)) << 8;
}
inline std::uint32_t above(F32x16 a, F32x16 b) {
  return mask_of(_mm256_cmp_ps(a.lo, b.lo, _CMP_GT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_GT_OQ));
}
inline std::uint32_t equal(F32x16 a, F32x16 b) {
  return mask_of(_mm256_cmp_ps(a.lo, b.lo, _CMP_EQ_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_EQ_OQ));
}
inline void add_to_doubles(F32x16 v, double (&sums)[8]) {
  const __m256 halves[2] = {v.lo, v.hi};
  for (const __m256 half : halves) {
    const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(half));
    const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(half, 1));
    _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), low));
    _mm256_storeu_pd(sums + 4, _mm256_add_pd(_mm256_loadu_pd(sums + 4), high));
  }
}

inline I32x16 splat_int(std::int32_t value) {
  return {_mm256_set1_epi32(value), _mm256_set1_epi32(value)};
}
inline I32x16 bits(F32x16 v) {
  return {_mm256_castps_si256(v.lo), _mm256_castps_si256(v.hi)};
}
inline F32x16 floats(I32x16 v) {
  return {_mm256_castsi256_ps(v.lo), _mm256_castsi256_ps(v.hi)};
}
inline F32x16 to_float(I32x16 v) {
  return {_mm256_cvtepi32_ps(v.lo), _mm256_cvtepi32_ps(v.hi)};
}
inline I32x16 operator+(I32x16 a, I32x16 b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
inline I32x16 operator-(I32x16 a, I32x16 b) {
  return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
}
inline I32x16 operator&(I32x16 a, I32x16 b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
inline I32x16 operator^(I32x16 a, I32x16 b) {
  return {_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)};
}
inline I32x16 max(I32x16 a, I32x16 b) {
  return {_mm256_max_epi32(a.lo, b.lo), _mm256_max_epi32(a.hi, b.hi)};
}
template <int kBits>
inline I32x16 shift_left(I32x16 v) {
  return {_mm256_slli_epi32(v.lo, kBits), _mm256_slli_epi32(v.hi, kBits)};
}
template <int kBits>
inline I32x16 shift_right(I32x16 v) {
  return {_mm256_srai_epi32(v.lo, kBits), _mm256_srai_epi32(v.hi, kBits)};
}
inline I32x16 shift_right(I32x16 v, int count) {
  return {_mm256_srai_epi32(v.lo, count), _mm256_srai_epi32(v.hi, count)};
}
inline std::int32_t max_lane(I32x16 v) {
  alignas(32) std::int32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), _mm256_max_epi32(v.lo, v.hi));
  std::int32_t result = lanes[0];
  for (int i = 1; i < 8; ++i) {
    result = lanes[i] > result ? lanes[i] : result;
  }
  return result;
}
inline std::int32_t sum(I32x16 v) {
  alignas(32) std::int32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), _mm256_add_epi32(v.lo, v.hi));
  std::uint32_t result = 0;
  for (const std::int32_t lane : lanes) {
    result += static_cast<std::uint32_t>(lane);
  }
  return static_cast<std::int32_t>(result);
}
inline void store_bytes(std::int8_t* to, I32x16 v) {
  const __m256i low = _mm256_set1_epi32(255);
  __m256i words = _mm256_packus_epi32(_mm256_and_si256(v.lo, low), _mm256_and_si256(v.hi, low));
  words = _mm256_permute4x64_epi64(words, 0xd8);
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(to),
      _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
inline F32x16 load_bytes(const std::int8_t* from) {
  const __m128i bytes = load_words(from);
  return to_float({_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))});
}
inline I32x16 load_unsigned_bytes(const std::uint8_t* from) {
  const __m128i bytes = load_words(from);
  return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
}
inline F32x16 float_of_bytes(__m128i bytes) {
  return to_float({_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))});
}
inline F32x16 load_low_nibbles(const std::uint8_t* from) {
  return float_of_bytes(_mm_and_si128(load_words(from), _mm_set1_epi8(15)));
}
inline F32x16 load_high_nibbles(const std::uint8_t* from) {
  return float_of_bytes(_mm_and_si128(_mm_srli_epi16(load_words(from), 4), _mm_set1_epi8(15)));
}

/// Group g of rows 0..7 is half[0][g], of rows 8..15 half[1][g].
struct Packed {
  __m256i half[2][8];
};

/// Four groups from sixteen bytes of each of eight rows.
inline void group_dwords(const std::uint8_t* first, std::int64_t row_bytes, __m256i* group) {
  const auto rows = [&](int i) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_words(first + i * row_bytes)),
                                   load_words(first + (4 + i) * row_bytes), 1);
  };
  const __m256i a = _mm256_unpacklo_epi32(rows(0), rows(1));
  const __m256i b = _mm256_unpackhi_epi32(rows(0), rows(1));
  const __m256i c = _mm256_unpacklo_epi32(rows(2), rows(3));
  const __m256i d = _mm256_unpackhi_epi32(rows(2), rows(3));
  group[0] = _mm256_unpacklo_epi64(a, c);
  group[1] = _mm256_unpackhi_epi64(a, c);
  group[2] = _mm256_unpacklo_epi64(b, d);
  group[3] = _mm256_unpackhi_epi64(b, d);
}
inline void load_columns(const std::uint8_t* first, std::int64_t row_bytes, I32x16* words) {
  __m256i low[4];
  __m256i high[4];
  group_dwords(first, row_bytes, low);
  group_dwords(first + 8 * row_bytes, row_bytes, high);
  for (int g = 0; g < 4; ++g) {
    words[g] = {low[g], high[g]};
  }
}
inline void store_group(std::uint8_t* to, I32x16 v) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(to), v.lo);
  _mm256_store_si256(reinterpret_cast<__m256i*>(to + 32), v.hi);
}
inline I32x16 load_group(const std::uint8_t* from) {
  return {_mm256_load_si256(reinterpret_cast<const __m256i*>(from)),
          _mm256_load_si256(reinterpret_cast<const __m256i*>(from + 32))};
}
inline Packed unpack_nibbles(const std::uint8_t* first, std::int64_t row_bytes) {
  const __m256i low = _mm256_set1_epi8(15);
  Packed packed;
  for (int h = 0; h < 2; ++h) {
    __m256i both[4];
    group_dwords(first + h * 8 * row_bytes, row_bytes, both);
    for (int g = 0; g < 4; ++g) {
      packed.half[h][g] = _mm256_and_si256(both[g], low);
      packed.half[h][4 + g] = _mm256_and_si256(_mm256_srli_epi16(both[g], 4), low);
    }
  }
  return packed;
}
inline Packed unpack_bytes(const std::uint8_t* first, std::int64_t row_bytes) {
  Packed packed;
  for (int h = 0; h < 2; ++h) {
    group_dwords(first + h * 8 * row_bytes, row_bytes, packed.half[h]);
    group_dwords(first + h * 8 * row_bytes + 16, row_bytes, packed.half[h] + 4);
  }
  return packed;
}
inline void store(std::uint8_t* to, const Packed& packed) {
  for (int i = 0; i < 16; ++i) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + i * 32), packed.half[i / 8][i % 8]);
  }
}
inline Packed load_packed(const std::uint8_t* from) {
  Packed packed;
  for (int i = 0; i < 16; ++i) {
    packed.half[i / 8][i % 8] = _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i * 32));
  }
  return packed;
}
inline __m256i splat_four(const std::int8_t* x) {
  std::int32_t value;
  __builtin_memcpy(&value, x, sizeof(value));
  return _mm256_set1_epi32(value);
}
inline I32x16 dot_nibbles(const Packed& w, const std::int8_t* x, std::int32_t start) {
  // Eight sums of two products of at most 15 * 127 stay below 2^15.
  __m256i lo = _mm256_setzero_si256();
  __m256i hi = _mm256_setzero_si256();
  for (int g = 0; g < 8; ++g) {
    const __m256i four = splat_four(x + 4 * g);
    lo = _mm256_add_epi16(lo, _mm256_maddubs_epi16(w.half[0][g], four));
    hi = _mm256_add_epi16(hi, _mm256_maddubs_epi16(w.half[1][g], four));
  }
  const __m256i ones = _mm256_set1_epi16(1);
  const __m256i first = _mm256_set1_epi32(start);
  return {_mm256_add_epi32(first, _mm256_madd_epi16(lo, ones)),
          _mm256_add_epi32(first, _mm256_madd_epi16(hi, ones))};
}
inline I32x16 dot_bytes(const Packed& w, const std::int8_t* x, std::int32_t start) {
  // |w| * (x with the sign of w): the sum of two products of at most 128 * 127 stays below 2^15.
  __m256i total[2] = {_mm256_set1_epi32(start), _mm256_set1_epi32(start)};
  const __m256i ones = _mm256_set1_epi16(1);
  for (int g = 0; g < 8; ++g) {
    const __m256i four = splat_four(x + 4 * g);
    for (int h = 0; h < 2; ++h) {
      const __m256i pairs =
          _mm256_maddubs_epi16(_mm256_abs_epi8(w.half[h][g]), _mm256_sign_epi8(four, w.half[h][g]));
      total[h] = _mm256_add_epi32(total[h], _mm256_madd_epi16(pairs, ones));
    }
  }
  return {total[0], total[1]};
}
/// Products of codes (without a sign) and inputs, added in pairs, or what is the same of signed
/// codes.
template <int kBits>
inline __m256i pair_products(__m256i codes, __m256i inputs) {
  if constexpr (kBits == 8) {
    return _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(inputs, codes));
  } else {
    return _mm256_maddubs_epi16(codes, inputs);
  }
}
template <int kBits, int kGroups>
inline I32x16 dot_codes(const I32x16 (&codes)[kGroups], const std::int8_t* x, std::int32_t start) {
  // So many sums of two products of at most 2^kBits * 128 stay below 2^15.
  constexpr int kTogether = kBits == 8                     ? 1
                            : (1 << (7 - kBits)) < kGroups ? 1 << (7 - kBits)
                                                           : kGroups;
  __m256i lo = _mm256_set1_epi32(start);
  __m256i hi = lo;
  const __m256i ones = _mm256_set1_epi16(1);
  for (int g = 0; g < kGroups; g += kTogether) {
    __m256i pairs_lo = _mm256_setzero_si256();
    __m256i pairs_hi = _mm256_setzero_si256();
    for (int i = g; i < g + kTogether; ++i) {
      const __m256i four = splat_four(x + 4 * i);
      pairs_lo = _mm256_add_epi16(pairs_lo, pair_products<kBits>(codes[i].lo, four));
      pairs_hi = _mm256_add_epi16(pairs_hi, pair_products<kBits>(codes[i].hi, four));
    }
    lo = _mm256_add_epi32(lo, _mm256_madd_epi16(pairs_lo, ones));
    hi = _mm256_add_epi32(hi, _mm256_madd_epi16(pairs_hi, ones));
  }
  return {lo, hi};
}
inline F32x16 load_scales(const std::uint8_t* first, std::int64_t row_bytes) {
  Half halves[16];
  for (int n = 0; n < 16; ++n) {
    __builtin_memcpy(&halves[n], first + n * row_bytes, sizeof(Half));
  }
  return load(halves);
}
inline void load_scale_pairs(const std::uint8_t* first, std::int64_t row_bytes, F32x16& scale,
                             F32x16& minimum) {
  scale = load_scales(first, row_bytes);
  minimum = load_scales(first + 2, row_bytes);
}

}  // namespace
}  // namespace godwit::cpu
