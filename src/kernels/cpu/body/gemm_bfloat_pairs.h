// Matrix products of bf16 with bf16 by the instruction that adds two products at a time: 16 partial
// sums for each element of the result, lane j taking the pairs p = j mod 16 in order. Its rounding
// is its own (pairs are added first, subnormals count as zero), so results differ from
// gemm_float.h's within the accuracy of the inputs, and are as independent of rows, tiles and
// threads. Included after body/gemm_float.h.

namespace godwit::cpu {
namespace {

inline __m512bh load_pairs(const BFloat* from) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
}
inline __m512bh load_pairs(const BFloat* from, std::int64_t count) {
  const auto mask = static_cast<__mmask32>((std::uint64_t{1} << count) - 1U);
  return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(mask, from));
}

template <int kRows, int kColumns>
void bfloat_tile(const FloatTile& tile) {
  const FloatGemm& call = tile.call;
  const auto* x = reinterpret_cast<const BFloat*>(call.x) + tile.row * call.x_stride;
  const BFloat* w = static_cast<const BFloat*>(call.w) + tile.column * call.k;
  F32x16 sums[kRows * kColumns];
  for (F32x16& v : sums) {
    v = splat(0.0F);
  }
  const auto step = [&](auto&& read) __attribute__((always_inline)) {
    __m512bh weights[kColumns];
    for (int c = 0; c < kColumns; ++c) {
      weights[c] = read(w + c * call.k);
    }
    for (int r = 0; r < kRows; ++r) {
      const __m512bh inputs = read(x + r * call.x_stride);
      for (int c = 0; c < kColumns; ++c) {
        sums[r * kColumns + c].v = _mm512_dpbf16_ps(sums[r * kColumns + c].v, inputs, weights[c]);
      }
    }
  };
  std::int64_t i = 0;
  for (; i + 32 <= call.k; i += 32) {
    step([&](const BFloat* row) __attribute__((always_inline)) { return load_pairs(row + i); });
  }
  if (i < call.k) {
    step([&](const BFloat* row)
             __attribute__((always_inline)) { return load_pairs(row + i, call.k - i); });
  }
  store_tile<kRows, kColumns>(tile, sums);
}

template <int kColumns>
void bfloat_columns(const FloatGemm& call, std::int64_t column) {
  std::int64_t row = 0;
  for (; row + 4 <= call.rows; row += 4) {
    bfloat_tile<4, kColumns>({call, row, column});
  }
  for (; row + 2 <= call.rows; row += 2) {
    bfloat_tile<2, kColumns>({call, row, column});
  }
  if (row < call.rows) {
    bfloat_tile<1, kColumns>({call, row, column});
  }
}

void bfloat_pairs_gemm(const FloatGemm& call) {
  std::int64_t column = 0;
  for (; column + 4 <= call.n; column += 4) {
    bfloat_columns<4>(call, column);
  }
  for (; column < call.n; ++column) {
    bfloat_columns<1>(call, column);
  }
}

}  // namespace
}  // namespace godwit::cpu
