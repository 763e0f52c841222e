// Matrix products with quantised weights on the tile unit: 16 rows x 16 columns x one block of 32,
// or one unit of 16, at a time. The dot products are exact integers and are scaled and added as in
// gemm_quant.h and gemm_units.h, so the results have the same bits. Included after both.

namespace godwit::cpu {
namespace {

/// From this many rows on a tile, even a part of one, is faster than one instruction a row and
/// group.
constexpr std::int64_t kTileRows = 5;

struct alignas(64) TileConfig {
  std::uint8_t palette;
  std::uint8_t start_row;
  std::uint8_t reserved[14];
  std::uint16_t bytes_a_row[16];
  std::uint8_t rows[16];
};

/// Tiles 0 and 1 hold sums, 2 and 3 inputs, 4 and 5 weights.
template <int kElements>
inline void configure_tiles() {
  TileConfig config = {};
  config.palette = 1;
  for (int t = 0; t < 6; ++t) {
    const bool inputs = t == 2 || t == 3;
    config.bytes_a_row[t] = inputs ? kElements : 64;
    config.rows[t] = t >= 4 ? kElements / 4 : 16;
  }
  __asm__ volatile("ldtilecfg %0" : : "m"(config));
}

/// Weights as signed bytes, as the tile unit takes them: 0..15, -8..7 or -128..127.
template <class Q>
inline Packed signed_weights(Packed packed) {
  if constexpr (Q::kOffset != 0) {
    const __m512i offset = _mm512_set1_epi8(static_cast<char>(Q::kOffset));
    for (__m512i& group : packed.group) {
      group = _mm512_sub_epi8(group, offset);
    }
  }
  return packed;
}

template <class Q>
void unpack_columns(const QuantColumns& columns, const Unpacked& unpacked) {
  const std::int64_t blocks = columns.call.k / 32;
  const std::int64_t row_bytes = blocks * Q::kBytes;
  const std::uint8_t* ahead = columns.w + 16 * row_bytes;
  for (std::int64_t b = 0; b < blocks; ++b) {
    for (int line = 0; line < Q::kBytes * 16; line += 64) {
      __builtin_prefetch(ahead + b * Q::kBytes * 16 + line);
    }
    F32x16 scale;
    F32x16 minimum;
    load_block_scales<Q>(columns.w + b * Q::kBytes, row_bytes, scale, minimum);
    store(unpacked.scales + b * 16, scale);
    if constexpr (Q::kMinimum) {
      store(unpacked.minima + b * 16, minimum);
    }
    store(unpacked.weights + b * 512,
          signed_weights<Q>(Q::unpack(columns.w + b * Q::kBytes, row_bytes)));
  }
}

/// The same of units, in their memory.
template <class Units>
inline void unpack_units(const StoredType& type, const QuantColumns& columns,
                         const Unpacked& units) {
  const std::int64_t blocks = columns.call.k / 32;
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(Units::kOffset));
  for (std::int64_t b = 0; b < blocks; b += type.blocks) {
    unpack_stored(type, columns, b / type.blocks, units_at<Units>(units, b));
    if constexpr (Units::kOffset != 0) {
      for (std::int64_t place = b * 512; place < (b + type.blocks) * 512; place += 64) {
        const __m512i codes = _mm512_load_si512(units.weights + place);
        _mm512_store_si512(units.weights + place, _mm512_sub_epi8(codes, offset));
      }
    }
  }
}

// What a tile load touches, rows that a unit of 16 steps over included.
using InputTile = std::int8_t[512];    // [16 rows][32]
using WeightTile = std::uint8_t[512];  // [8 groups][16 columns][4]
using ProductTile = std::int32_t[256];

/// The integer dot products of 16 rows with 16 columns. Two sets of tiles take turns. Written out,
/// because the intrinsics of g++ 12 do not say what memory they touch: some let it move stores past
/// them, others make it keep every sum in memory.
inline void even_products(const InputTile& inputs, const WeightTile& weights,
                          ProductTile& products) {
  __asm__ volatile(
      "tilezero %%tmm0\n\t"
      "tileloadd (%1,%3,1), %%tmm2\n\t"
      "tileloadd (%2,%4,1), %%tmm4\n\t"
      "tdpbssd %%tmm4, %%tmm2, %%tmm0\n\t"
      "tilestored %%tmm0, (%5,%4,1)"
      : "=m"(products)
      : "r"(inputs), "r"(weights), "r"(std::int64_t{32}), "r"(std::int64_t{64}), "r"(products),
        "m"(inputs), "m"(weights));
}
inline void odd_products(const InputTile& inputs, const WeightTile& weights,
                         ProductTile& products) {
  __asm__ volatile(
      "tilezero %%tmm1\n\t"
      "tileloadd (%1,%3,1), %%tmm3\n\t"
      "tileloadd (%2,%4,1), %%tmm5\n\t"
      "tdpbssd %%tmm5, %%tmm3, %%tmm1\n\t"
      "tilestored %%tmm1, (%5,%4,1)"
      : "=m"(products)
      : "r"(inputs), "r"(weights), "r"(std::int64_t{32}), "r"(std::int64_t{64}), "r"(products),
        "m"(inputs), "m"(weights));
}

/// `scales` and `scaled_sums` are those of 16 rows.
template <bool kMinimum>
inline void add_products(const ProductTile& products, const Unpacked& unpacked, std::int64_t b,
                         const float* scales, const float* scaled_sums, F32x16 (&sums)[16]) {
  const F32x16 scale = load(unpacked.scales + b * 16);
  F32x16 minimum = scale;
  if constexpr (kMinimum) {
    minimum = load(unpacked.minima + b * 16);
  }
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) {
    const I32x16 dot = {_mm512_load_si512(products + r * 16)};
    sums[r] = fma(scale * splat(scales[r]), to_float(dot), sums[r]);
    if constexpr (kMinimum) {
      sums[r] = fma(minimum, splat(scaled_sums[r]), sums[r]);
    }
  }
}

/// Blocks that the tile unit works ahead of the sums, to hide the time from its loads to its
/// stores.
constexpr std::int64_t kBlocksAhead = 3;
/// Blocks of weights that are fetched ahead: tile loads do not train the processor's own
/// prefetcher.
constexpr std::int64_t kBlocksFetched = 6;
/// Tiles of columns that go over the rows together: the inputs of a tile of rows stay in the first
/// cache meanwhile, and a row of out is written 256 bytes at a time.
constexpr std::int64_t kColumnTiles = 4;

/// The scaled sums of the inputs of unit `part` of the block at `place`, of 16 rows.
inline void scaled_sums_of_unit(const QuantGemm& call, std::int64_t place, std::int64_t part,
                                float* to) {
  I32x16 sums = {_mm512_loadu_si512(call.first_sum + place)};
  if (part == 1) {
    sums = I32x16{_mm512_loadu_si512(call.sum + place)} - sums;
  }
  store(to, load(call.scale + place) * to_float(sums));
}

/// Rows [row, row + 16), of which those past the last are dropped. kElements share a scale.
template <int kElements, bool kMinimum>
void tile_rows(const QuantColumns& columns, const Unpacked& unpacked, std::int64_t row) {
  constexpr std::int64_t kParts = 32 / kElements;
  constexpr std::int64_t kWeightBytes = kElements * 16;
  const QuantGemm& call = columns.call;
  const std::int64_t units = call.k / 32 * kParts;
  const std::int64_t first = row * (call.k / 32);  // The place of the first block.
  alignas(64) ProductTile products[kBlocksAhead + 1];
  const auto multiply = [&](std::int64_t u) __attribute__((always_inline)) {
    const auto& inputs = *reinterpret_cast<const InputTile*>(
        call.q + (first + u / kParts * 16) * 32 + u % kParts * kElements);
    const auto& weights = *reinterpret_cast<const WeightTile*>(unpacked.weights + u * kWeightBytes);
    if (u % 2 == 0) {
      even_products(inputs, weights, products[u % (kBlocksAhead + 1)]);
    } else {
      odd_products(inputs, weights, products[u % (kBlocksAhead + 1)]);
    }
  };
  F32x16 sums[16];
#pragma GCC unroll 16
  for (F32x16& v : sums) {
    v = splat(0.0F);
  }
  for (std::int64_t u = 0; u < kBlocksAhead && u < units; ++u) {
    multiply(u);
  }
  for (std::int64_t u = 0; u < units; ++u) {
    for (std::int64_t line = 0; line < kWeightBytes; line += 64) {
      __builtin_prefetch(unpacked.weights + (u + kBlocksFetched) * kWeightBytes + line);
    }
    if (u + kBlocksAhead < units) {
      multiply(u + kBlocksAhead);
    }
    const std::int64_t place = first + u / kParts * 16;
    const float* scaled_sums = call.scaled_sum + place;
    float sums_of_unit[16];
    if constexpr (kMinimum && kParts == 2) {
      scaled_sums_of_unit(call, place, u % 2, sums_of_unit);
      scaled_sums = sums_of_unit;
    }
    add_products<kMinimum>(products[u % (kBlocksAhead + 1)], unpacked, u, call.scale + place,
                           scaled_sums, sums);
  }
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) {
    if (row + r < call.rows) {
      finish(columns, row + r, sums[r]);
    }
  }
}

std::int64_t amx_scratch_bytes(std::int64_t k) {
  return kColumnTiles * quant_scratch_bytes(k);
}

/// Goes over the columns [begin, end). `columns_from` gives the 16 from a column on, `memory_at`
/// and `unpack` where and how they are unpacked.
template <int kElements, bool kMinimum, class ColumnsFrom, class MemoryAt, class Unpack>
void amx_columns(const QuantGemm& call, std::int64_t begin, std::int64_t end,
                 const ColumnsFrom& columns_from, const MemoryAt& memory_at, const Unpack& unpack) {
  configure_tiles<kElements>();
  for (std::int64_t column = begin; column < end; column += 16 * kColumnTiles) {
    const std::int64_t left = (end - column + 15) / 16;
    const std::int64_t tiles = left < kColumnTiles ? left : kColumnTiles;
    for (std::int64_t t = 0; t < tiles; ++t) {
      unpack(columns_from(column + 16 * t), memory_at(t));
    }
    for (std::int64_t row = 0; row < call.rows; row += 16) {
      for (std::int64_t t = 0; t < tiles; ++t) {
        tile_rows<kElements, kMinimum>(columns_from(column + 16 * t), memory_at(t), row);
      }
    }
  }
  __asm__ volatile("tilerelease");
}

template <class Q>
void amx_gemm(const QuantGemm& call, std::int64_t begin, std::int64_t end, void* scratch) {
  if (call.rows < kTileRows) {
    quant_gemm<Q>(call, begin, end, scratch);
    return;
  }
  auto* memory = static_cast<std::uint8_t*>(scratch);
  amx_columns<32, Q::kMinimum>(
      call, begin, end, [&](std::int64_t column) { return columns_at<Q>(call, column); },
      [&](std::int64_t tile) {
        return unpacked_in(memory + tile * quant_scratch_bytes(call.k), call.k / 32);
      },
      [](const QuantColumns& columns, const Unpacked& to) { unpack_columns<Q>(columns, to); });
}

/// Compiled once for all types of these units.
template <class Units>
void amx_unit_gemm(const StoredType& type, const QuantGemm& call, std::int64_t begin,
                   std::int64_t end, void* scratch) {
  auto* memory = static_cast<std::uint8_t*>(scratch);
  amx_columns<Units::kElements, Units::kMinimum>(
      call, begin, end, [&](std::int64_t column) { return stored_columns(type, call, column); },
      [&](std::int64_t tile) {
        return units_in(memory + tile * quant_scratch_bytes(call.k), call.k / 32);
      },
      [&](const QuantColumns& columns, const Unpacked& to) {
        unpack_units<Units>(type, columns, to);
      });
}

template <class Q>
void amx_units_gemm(const QuantGemm& call, std::int64_t begin, std::int64_t end, void* scratch) {
  if (call.rows < kTileRows) {
    units_gemm<Q>(call, begin, end, scratch);
  } else {
    amx_unit_gemm<typename Q::Units>(stored_type<Q>(), call, begin, end, scratch);
  }
}

}  // namespace
}  // namespace godwit::cpu
