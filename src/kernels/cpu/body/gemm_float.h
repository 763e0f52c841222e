// Matrix products with plain weights, in dot form: 16 partial sums for each element of the result,
// lane j taking the k = j mod 16 in order. Included after a simd/ header.

namespace godwit::cpu {
namespace {

struct FloatTile {
  const FloatGemm& call;
  std::int64_t row;
  std::int64_t column;
};

template <int kRows, int kColumns, class W>
inline void add_products(const float* const (&x)[kRows], const W* const (&w)[kColumns],
                         std::int64_t k, F32x16 (&sums)[kRows * kColumns]) {
  const auto step = [&](auto&& read) __attribute__((always_inline)) {
    F32x16 weights[kColumns];
    for (int c = 0; c < kColumns; ++c) {
      weights[c] = read(w[c]);
    }
    for (int r = 0; r < kRows; ++r) {
      const F32x16 inputs = read(x[r]);
      for (int c = 0; c < kColumns; ++c) {
        sums[r * kColumns + c] = fma(inputs, weights[c], sums[r * kColumns + c]);
      }
    }
  };
  std::int64_t i = 0;
  for (; i + 16 <= k; i += 16) {
    step([&](const auto* row) __attribute__((always_inline)) { return load(row + i); });
  }
  if (i < k) {
    step([&](const auto* row) __attribute__((always_inline)) { return load(row + i, k - i); });
  }
}

inline void finish(const FloatGemm& call, std::int64_t row, std::int64_t column, float value) {
  float* out = call.out + row * call.out_stride + column;
  if (call.bias != nullptr) {
    value = value + call.bias[column];
  }
  *out = call.accumulate ? value + *out : value;
}

template <int kRows, int kColumns>
inline void store_tile(const FloatTile& tile, const F32x16 (&sums)[kRows * kColumns]) {
  if constexpr (kRows * kColumns == 16) {
    float results[16];
    store(results, sum_each(sums));
    for (int i = 0; i < 16; ++i) {
      finish(tile.call, tile.row + i / kColumns, tile.column + i % kColumns, results[i]);
    }
  } else {
    for (int i = 0; i < kRows * kColumns; ++i) {
      finish(tile.call, tile.row + i / kColumns, tile.column + i % kColumns, sum(sums[i]));
    }
  }
}

/// The elements [row, row + kRows) x [column, column + kColumns).
template <int kRows, int kColumns, class W>
void float_tile(const FloatTile& tile) {
  const FloatGemm& call = tile.call;
  const float* x[kRows];
  const W* w[kColumns];
  for (int r = 0; r < kRows; ++r) {
    x[r] = call.x + (tile.row + r) * call.x_stride;
  }
  for (int c = 0; c < kColumns; ++c) {
    w[c] = static_cast<const W*>(call.w) + (tile.column + c) * call.k;
  }
  F32x16 sums[kRows * kColumns];
  for (F32x16& v : sums) {
    v = splat(0.0F);
  }
  add_products<kRows, kColumns, W>(x, w, call.k, sums);
  store_tile<kRows, kColumns>(tile, sums);
}

/// All rows of the columns [column, column + kColumns).
template <int kColumns, class W>
void float_columns(const FloatGemm& call, std::int64_t column) {
  std::int64_t row = 0;
  for (; row + 4 <= call.rows; row += 4) {
    float_tile<4, kColumns, W>({call, row, column});
  }
  for (; row + 2 <= call.rows; row += 2) {
    float_tile<2, kColumns, W>({call, row, column});
  }
  if (row < call.rows) {
    float_tile<1, kColumns, W>({call, row, column});
  }
}

template <class W>
void float_gemm(const FloatGemm& call) {
  std::int64_t column = 0;
  for (; column + 4 <= call.n; column += 4) {
    float_columns<4, W>(call, column);
  }
  for (; column < call.n; ++column) {
    float_columns<1, W>(call, column);
  }
}

}  // namespace
}  // namespace godwit::cpu
