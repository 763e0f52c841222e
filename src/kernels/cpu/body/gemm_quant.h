// Matrix products with weights in blocks of 32: an exact integer dot product a block, scaled and
// added in the order of the blocks. A lane is a column, so 16 rows of weights are unpacked side by
// side. Included after a simd/ header.

namespace godwit::cpu {
namespace {

struct Q8Blocks {
  static constexpr int kBytes = 34;
  static constexpr std::int32_t kOffset = kByteOffset;
  static constexpr bool kMinimum = false;
  static Packed unpack(const std::uint8_t* first, std::int64_t row_bytes) {
    return unpack_bytes(first + 2, row_bytes);
  }
  static I32x16 dot(const Packed& w, const std::int8_t* x, std::int32_t start) {
    return dot_bytes(w, x, start);
  }
};

struct Q40Blocks {
  static constexpr int kBytes = 18;
  static constexpr std::int32_t kOffset = 8;
  static constexpr bool kMinimum = false;
  static Packed unpack(const std::uint8_t* first, std::int64_t row_bytes) {
    return unpack_nibbles(first + 2, row_bytes);
  }
  static I32x16 dot(const Packed& w, const std::int8_t* x, std::int32_t start) {
    return dot_nibbles(w, x, start);
  }
};

struct Q41Blocks {
  static constexpr int kBytes = 20;
  static constexpr std::int32_t kOffset = 0;
  static constexpr bool kMinimum = true;
  static Packed unpack(const std::uint8_t* first, std::int64_t row_bytes) {
    return unpack_nibbles(first + 4, row_bytes);
  }
  static I32x16 dot(const Packed& w, const std::int8_t* x, std::int32_t start) {
    return dot_nibbles(w, x, start);
  }
};

template <class Q>
inline void load_block_scales(const std::uint8_t* block, std::int64_t row_bytes, F32x16& scale,
                              F32x16& minimum) {
  if constexpr (Q::kMinimum) {
    load_scale_pairs(block, row_bytes, scale, minimum);
  } else {
    scale = load_scales(block, row_bytes);
    minimum = splat(0.0F);
  }
}

/// Sixteen columns of the call.
struct QuantColumns {
  const QuantGemm& call;
  const std::uint8_t* w;  ///< Block 0 of the first column.
  std::int64_t first;     ///< The first column.
  std::int64_t begin;     ///< Lanes [begin, 16) are stored.
};

inline void finish(const QuantColumns& columns, std::int64_t row, F32x16 value) {
  const QuantGemm& call = columns.call;
  float* out = call.out + row * call.out_stride + columns.first;
  if (call.bias != nullptr) {
    value = value + load(call.bias + columns.first);
  }
  if (call.accumulate) {
    value = value + load(out);
  }
  if (columns.begin == 0) {
    store(out, value);
  } else {
    store(out, value, columns.begin, 16);
  }
}

/// Adds one block to the sums of kRows rows; rows past the last repeat it.
template <class Q, int kRows>
inline void add_block(const QuantGemm& call, const std::int64_t (&rows)[kRows], std::int64_t block,
                      const Packed& w, const F32x16& scale, const F32x16& minimum,
                      F32x16 (&sums)[kRows]) {
  const std::int64_t blocks = call.k / 32;
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t place =
        (rows[r] / kQuantTile * blocks + block) * kQuantTile + rows[r] % kQuantTile;
    std::int32_t start = 0;
    if constexpr (Q::kOffset != 0) {
      start = -Q::kOffset * call.sum[place];
    }
    const I32x16 dot = Q::dot(w, call.q + place * 32, start);
    sums[r] = fma(scale * splat(call.scale[place]), to_float(dot), sums[r]);
    if constexpr (Q::kMinimum) {
      sums[r] = fma(minimum, splat(call.scaled_sum[place]), sums[r]);
    }
  }
}

template <int kRows>
inline void choose_rows(const QuantGemm& call, std::int64_t row, std::int64_t (&rows)[kRows]) {
  for (int r = 0; r < kRows; ++r) {
    rows[r] = row + r < call.rows ? row + r : call.rows - 1;
  }
}

/// All rows, at most kRows, of 16 columns, straight from the stored weights. Rows of weights lie
/// one after the other, so the next 16 rows are fetched ahead as one range, as much in each step as
/// the step uses.
template <class Q, int kRows>
void quant_direct(const QuantColumns& columns) {
  const QuantGemm& call = columns.call;
  const std::int64_t blocks = call.k / 32;
  const std::int64_t row_bytes = blocks * Q::kBytes;
  const std::uint8_t* ahead = columns.w + 16 * row_bytes;
  std::int64_t rows[kRows];
  choose_rows(call, 0, rows);
  F32x16 sums[kRows];
  for (F32x16& v : sums) {
    v = splat(0.0F);
  }
  for (std::int64_t b = 0; b < blocks; ++b) {
    for (int line = 0; line < Q::kBytes * 16; line += 64) {
      __builtin_prefetch(ahead + b * Q::kBytes * 16 + line);
    }
    F32x16 scale;
    F32x16 minimum;
    load_block_scales<Q>(columns.w + b * Q::kBytes, row_bytes, scale, minimum);
    const Packed w = Q::unpack(columns.w + b * Q::kBytes, row_bytes);
    add_block<Q, kRows>(call, rows, b, w, scale, minimum, sums);
  }
  for (int r = 0; r < kRows && r < call.rows; ++r) {
    finish(columns, r, sums[r]);
  }
}

/// Sixteen columns unpacked: for each block 512 bytes of weights, then all scales, then all minima.
struct Unpacked {
  std::uint8_t* weights;
  float* scales;
  float* minima;
};

inline Unpacked unpacked_in(void* scratch, std::int64_t blocks) {
  auto* weights = static_cast<std::uint8_t*>(scratch);
  auto* scales = reinterpret_cast<float*>(weights + blocks * 512);
  return {weights, scales, scales + blocks * 16};
}

/// Enough for two scales and minima a block, as the units of gemm_units.h may have.
constexpr std::int64_t quant_scratch_bytes(std::int64_t k) {
  return k / 32 * (512 + 4 * 64);
}

template <class Q, int kRows>
void quant_rows(const QuantColumns& columns, const Unpacked& unpacked, std::int64_t row) {
  const QuantGemm& call = columns.call;
  std::int64_t rows[kRows];
  choose_rows(call, row, rows);
  F32x16 sums[kRows];
  for (F32x16& v : sums) {
    v = splat(0.0F);
  }
  for (std::int64_t b = 0; b < call.k / 32; ++b) {
    const Packed w = load_packed(unpacked.weights + b * 512);
    add_block<Q, kRows>(call, rows, b, w, load(unpacked.scales + b * 16),
                        load(unpacked.minima + b * 16), sums);
  }
  for (int r = 0; r < kRows && row + r < call.rows; ++r) {
    finish(columns, row + r, sums[r]);
  }
}

template <class Q>
void quant_tiled(const QuantColumns& columns, void* scratch) {
  const QuantGemm& call = columns.call;
  const std::int64_t blocks = call.k / 32;
  const std::int64_t row_bytes = blocks * Q::kBytes;
  const Unpacked unpacked = unpacked_in(scratch, blocks);
  for (std::int64_t b = 0; b < blocks; ++b) {
    F32x16 scale;
    F32x16 minimum;
    load_block_scales<Q>(columns.w + b * Q::kBytes, row_bytes, scale, minimum);
    store(unpacked.scales + b * 16, scale);
    store(unpacked.minima + b * 16, minimum);
    store(unpacked.weights + b * 512, Q::unpack(columns.w + b * Q::kBytes, row_bytes));
  }
  for (std::int64_t row = 0; row < call.rows; row += 8) {
    quant_rows<Q, 8>(columns, unpacked, row);
  }
}

template <class Q>
QuantColumns columns_at(const QuantGemm& call, std::int64_t column) {
  // The last 16 columns may overlap the ones before; their lanes are then not stored again.
  const std::int64_t first = column + 16 <= call.n ? column : call.n - 16;
  return {call, call.w + first * (call.k / 32) * Q::kBytes, first, column - first};
}

template <class Q>
void quant_gemm(const QuantGemm& call, std::int64_t begin, std::int64_t end, void* scratch) {
  for (std::int64_t column = begin; column < end; column += 16) {
    const QuantColumns columns = columns_at<Q>(call, column);
    if (call.rows == 1) {
      quant_direct<Q, 1>(columns);
    } else if (call.rows == 2) {
      quant_direct<Q, 2>(columns);
    } else if (call.rows <= 4) {
      quant_direct<Q, 4>(columns);
    } else if (call.rows <= 8) {
      quant_direct<Q, 8>(columns);
    } else {
      quant_tiled<Q>(columns, scratch);
    }
  }
}

}  // namespace
}  // namespace godwit::cpu
