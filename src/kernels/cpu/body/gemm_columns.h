// Matrix products with plain weights stored one row an input: each element of the result is one sum
// over the inputs in order, a lane a column. Included after a simd/ header.

namespace godwit::cpu {
namespace {

/// The elements [row, row + kRows) x [column, column + 16 * kChunks), the last chunk `last` wide.
template <int kRows, int kChunks, class W>
void column_tile(const ColumnGemm& call, std::int64_t row, std::int64_t column, std::int64_t last) {
  F32x16 sums[kRows][kChunks];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kChunks; ++c) {
      sums[r][c] = splat(0.0F);
    }
  }
  const float* x = call.x + row * call.x_stride;
  const W* w = static_cast<const W*>(call.w) + column;
  const bool whole = last == 16;
  for (std::int64_t i = 0; i < call.k; ++i, w += call.w_stride) {
    F32x16 weights[kChunks];
    for (int c = 0; c < kChunks; ++c) {
      weights[c] = whole || c + 1 < kChunks ? load(w + 16 * c) : load(w + 16 * c, last);
    }
    for (int r = 0; r < kRows; ++r) {
      const F32x16 input = splat(x[r * call.x_stride + i]);
      for (int c = 0; c < kChunks; ++c) {
        sums[r][c] = fma(input, weights[c], sums[r][c]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    float* out = call.out + (row + r) * call.out_stride + column;
    for (int c = 0; c < kChunks; ++c) {
      store(out + 16 * c, sums[r][c], 0, c + 1 < kChunks ? 16 : last);
    }
  }
}

template <int kChunks, class W>
void column_rows(const ColumnGemm& call, std::int64_t column, std::int64_t last) {
  std::int64_t row = 0;
  for (; row + 4 <= call.rows; row += 4) {
    column_tile<4, kChunks, W>(call, row, column, last);
  }
  for (; row < call.rows; ++row) {
    column_tile<1, kChunks, W>(call, row, column, last);
  }
}

template <class W>
void column_gemm(const ColumnGemm& call) {
  std::int64_t column = 0;
  for (; column + 64 <= call.n; column += 64) {
    column_rows<4, W>(call, column, 16);
  }
  for (; column < call.n; column += 16) {
    column_rows<1, W>(call, column, call.n - column < 16 ? call.n - column : 16);
  }
}

}  // namespace
}  // namespace godwit::cpu
