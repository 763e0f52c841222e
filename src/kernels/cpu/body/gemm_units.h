// Matrix products with the weights of unpack_quant.h: an exact integer dot product a unit, scaled
// and added in the order of the units. A lane is a column. Only the unpacking is compiled for each
// type; the sums are those of the units' form. Included after body/gemm_quant.h.

#include "kernels/cpu/body/unpack_quant.h"

namespace godwit::cpu {
namespace {

/// A quantised type, for code that is compiled once for several.
struct StoredType {
  void (*unpack)(const std::uint8_t* first, std::int64_t row_bytes, const Unpacked& to);
  std::int64_t bytes;
  std::int64_t blocks;
};

template <class Q>
constexpr StoredType stored_type() {
  return {.unpack = Q::unpack, .bytes = Q::kBytes, .blocks = Q::kBlocks};
}

/// Memory for the units of `blocks` blocks of 32.
inline Unpacked units_in(void* scratch, std::int64_t blocks) {
  auto* codes = static_cast<std::uint8_t*>(scratch);
  auto* scales = reinterpret_cast<float*>(codes + blocks * 512);
  return {codes, scales, scales + blocks * 32};
}

/// That of block `block`.
template <class Units>
inline Unpacked units_at(const Unpacked& memory, std::int64_t block) {
  const std::int64_t scales = block * (32 / Units::kElements) * 16;
  return {memory.weights + block * 512, memory.scales + scales, memory.minima + scales};
}

/// Unpacks stored block `index` of 16 columns and fetches that of the next 16 columns ahead.
inline void unpack_stored(const StoredType& type, const QuantColumns& columns, std::int64_t index,
                          const Unpacked& to) {
  const std::int64_t row_bytes = columns.call.k / 32 / type.blocks * type.bytes;
  const std::uint8_t* ahead = columns.w + 16 * (row_bytes + index * type.bytes);
  for (std::int64_t line = 0; line < type.bytes * 16; line += 64) {
    __builtin_prefetch(ahead + line);
  }
  type.unpack(columns.w + index * type.bytes, row_bytes, to);
}

/// The sum of the inputs of unit `part` of the block at `place`.
template <class Units>
inline std::int32_t sum_of_inputs(const QuantGemm& call, std::int64_t place, std::int64_t part) {
  if constexpr (Units::kElements == 32) {
    return call.sum[place];
  } else {
    return part == 0 ? call.first_sum[place] : call.sum[place] - call.first_sum[place];
  }
}

/// Adds the units of the blocks [first, first + count) to the sums of kRows rows.
template <class Units, int kRows>
inline void add_units(const QuantGemm& call, const std::int64_t (&rows)[kRows],
                      const Unpacked& units, std::int64_t first, std::int64_t count,
                      F32x16 (&sums)[kRows]) {
  constexpr int kParts = 32 / Units::kElements;
  constexpr int kGroups = Units::kElements / 4;
  const std::int64_t blocks = call.k / 32;
  for (std::int64_t u = 0; u < count * kParts; ++u) {
    const std::int64_t part = u % kParts;
    I32x16 codes[kGroups];
    for (int g = 0; g < kGroups; ++g) {
      codes[g] = load_group(units.weights + (u * kGroups + g) * 64);
    }
    const F32x16 scale = load(units.scales + u * 16);
    F32x16 minimum = scale;
    if constexpr (Units::kMinimum) {
      minimum = load(units.minima + u * 16);
    }
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t place =
          (rows[r] / kQuantTile * blocks + first + u / kParts) * kQuantTile + rows[r] % kQuantTile;
      std::int32_t start = 0;
      if constexpr (Units::kOffset != 0) {
        start = -Units::kOffset * sum_of_inputs<Units>(call, place, part);
      }
      const I32x16 dot = dot_codes<Units::kBits>(codes, call.q + place * 32 + part * 16, start);
      sums[r] = fma(scale * splat(call.scale[place]), to_float(dot), sums[r]);
      if constexpr (Units::kMinimum) {
        const float inputs =
            call.scale[place] * static_cast<float>(sum_of_inputs<Units>(call, place, part));
        sums[r] = fma(minimum, splat(inputs), sums[r]);
      }
    }
  }
}

/// All rows, at most kRows, of 16 columns, one stored block after the other.
template <class Units, int kRows>
void units_direct(const StoredType& type, const QuantColumns& columns) {
  const QuantGemm& call = columns.call;
  alignas(64) std::uint8_t memory[quant_scratch_bytes(256)];
  const Unpacked units = units_in(memory, type.blocks);
  std::int64_t rows[kRows];
  choose_rows(call, 0, rows);
  F32x16 sums[kRows];
  for (F32x16& v : sums) {
    v = splat(0.0F);
  }
  for (std::int64_t b = 0; b < call.k / 32; b += type.blocks) {
    unpack_stored(type, columns, b / type.blocks, units);
    add_units<Units, kRows>(call, rows, units, b, type.blocks, sums);
  }
  for (int r = 0; r < kRows && r < call.rows; ++r) {
    finish(columns, r, sums[r]);
  }
}

template <class Units>
void units_tiled(const StoredType& type, const QuantColumns& columns, void* scratch) {
  constexpr int kRows = 8;
  const QuantGemm& call = columns.call;
  const std::int64_t blocks = call.k / 32;
  const Unpacked units = units_in(scratch, blocks);
  for (std::int64_t b = 0; b < blocks; b += type.blocks) {
    unpack_stored(type, columns, b / type.blocks, units_at<Units>(units, b));
  }
  for (std::int64_t row = 0; row < call.rows; row += kRows) {
    std::int64_t rows[kRows];
    choose_rows(call, row, rows);
    F32x16 sums[kRows];
    for (F32x16& v : sums) {
      v = splat(0.0F);
    }
    add_units<Units, kRows>(call, rows, units, 0, blocks, sums);
    for (int r = 0; r < kRows && row + r < call.rows; ++r) {
      finish(columns, row + r, sums[r]);
    }
  }
}

/// The last 16 columns may overlap the ones before; their lanes are then not stored again.
inline QuantColumns stored_columns(const StoredType& type, const QuantGemm& call,
                                   std::int64_t column) {
  const std::int64_t first = column + 16 <= call.n ? column : call.n - 16;
  return {call, call.w + first * (call.k / 32 / type.blocks) * type.bytes, first, column - first};
}

template <class Units>
void unit_gemm(const StoredType& type, const QuantGemm& call, std::int64_t begin, std::int64_t end,
               void* scratch) {
  for (std::int64_t column = begin; column < end; column += 16) {
    const QuantColumns columns = stored_columns(type, call, column);
    if (call.rows == 1) {
      units_direct<Units, 1>(type, columns);
    } else if (call.rows == 2) {
      units_direct<Units, 2>(type, columns);
    } else if (call.rows <= 4) {
      units_direct<Units, 4>(type, columns);
    } else if (call.rows <= 8) {
      units_direct<Units, 8>(type, columns);
    } else {
      units_tiled<Units>(type, columns, scratch);
    }
  }
}

template <class Q>
void units_gemm(const QuantGemm& call, std::int64_t begin, std::int64_t end, void* scratch) {
  unit_gemm<typename Q::Units>(stored_type<Q>(), call, begin, end, scratch);
}

}  // namespace
}  // namespace godwit::cpu
