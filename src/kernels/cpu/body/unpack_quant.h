// Quantised types with more than nibbles or bytes: sixteen rows (columns of the product) of one
// stored block become plain codes, a lane a row, with their scales and minima widened. What the
// bits of a block mean is in kernels/ref/super_blocks.h. Included after body/gemm_quant.h.

namespace godwit::cpu {
namespace {

/// How units are multiplied; shared by the types that need no more. A unit is the codes that share
/// a scale: 32, or 16. They are unpacked to groups of 64 bytes, four codes of each row; minima are
/// to be added, so they are negative where the type subtracts.
///
/// kBits bounds a code: kBits = 8 means bytes with kByteOffset added, else they are 0..2^kBits - 1.
/// Value = scale * (code - kOffset), or scale * code + minimum.
struct ByteUnits {
  static constexpr int kElements = 32;
  static constexpr int kBits = 8;
  static constexpr bool kMinimum = false;
  static constexpr std::int32_t kOffset = kByteOffset;
};
struct FiveBitUnits {
  static constexpr int kElements = 32;
  static constexpr int kBits = 5;
  static constexpr bool kMinimum = true;
  static constexpr std::int32_t kOffset = 0;
};
struct TwoBitUnits {
  static constexpr int kElements = 16;
  static constexpr int kBits = 2;
  static constexpr bool kMinimum = true;
  static constexpr std::int32_t kOffset = 0;
};
/// Of Q3_K too, whose codes have 28 added.
struct SixBitUnits {
  static constexpr int kElements = 16;
  static constexpr int kBits = 6;
  static constexpr bool kMinimum = false;
  static constexpr std::int32_t kOffset = 32;
};

/// 32 bytes of each row.
struct RowBytes {
  I32x16 group[8];
};

inline RowBytes load_rows(const std::uint8_t* first, std::int64_t row_bytes) {
  RowBytes rows;
  load_columns(first, row_bytes, rows.group);
  load_columns(first + 16, row_bytes, rows.group + 4);
  return rows;
}

inline I32x16 each_byte(int value) {
  return splat_int(value * 0x01010101);
}

/// (bytes >> shift) & mask, in each byte.
inline I32x16 bits_of_bytes(const I32x16& bytes, int shift, const I32x16& mask) {
  return shift_right(bytes, shift) & mask;
}

inline void store_scales(float* to, int unit, const F32x16& v) {
  store(to + unit * 16, v);
}

/// A byte, or the bits [shift, shift + 8) of one, of the 16 in `words`; the rest is to be masked.
inline I32x16 word_bits(const I32x16 (&words)[4], int byte, int shift) {
  return shift_right(words[byte / 4], byte % 4 * 8 + shift);
}

/// Four bits of each row, from bit `bit` of `word` on, as 16 or 0 in one byte each.
inline I32x16 fifth_bits(const I32x16& word, int bit) {
  const I32x16 four = shift_right(word, bit) & splat_int(15);
  const I32x16 apart = four + shift_left<7>(four) + shift_left<14>(four) + shift_left<21>(four);
  return shift_left<4>(apart & each_byte(1));
}

/// The 32 codes of Q5_0 and Q5_1 from 4 bytes of fifth bits and 16 of nibbles, as finish(codes).
template <class Finish>
inline void unpack_fifths(const std::uint8_t* first, std::int64_t row_bytes, std::uint8_t* codes,
                          const Finish& finish) {
  I32x16 words[4];
  load_columns(first, row_bytes, words);
  I32x16 nibbles[4];
  load_columns(first + 4, row_bytes, nibbles);
  const I32x16 low = each_byte(15);
  for (int g = 0; g < 4; ++g) {
    store_group(codes + g * 64, finish((nibbles[g] & low) + fifth_bits(words[0], 4 * g)));
    store_group(codes + (4 + g) * 64,
                finish(bits_of_bytes(nibbles[g], 4, low) + fifth_bits(words[0], 16 + 4 * g)));
  }
}

struct Q50 {
  using Units = ByteUnits;
  static constexpr int kBytes = 22;
  static constexpr int kBlocks = 1;  ///< Blocks of 32 in a stored block.
  static void unpack(const std::uint8_t* first, std::int64_t row_bytes, const Unpacked& to) {
    // Less 16 and with kByteOffset added, which is 128 or 0, without a carry out of a byte.
    const I32x16 added = each_byte(0x70);
    const I32x16 sign = kByteOffset == 0 ? splat_int(INT32_MIN | 0x00808080) : splat_int(0);
    unpack_fifths(first + 2, row_bytes, to.weights,
                  [&](const I32x16& codes) { return (codes + added) ^ sign; });
    store(to.scales, load_scales(first, row_bytes));
  }
};

struct Q51 {
  using Units = FiveBitUnits;
  static constexpr int kBytes = 24;
  static constexpr int kBlocks = 1;
  static void unpack(const std::uint8_t* first, std::int64_t row_bytes, const Unpacked& to) {
    unpack_fifths(first + 4, row_bytes, to.weights, [](const I32x16& codes) { return codes; });
    F32x16 scale;
    F32x16 minimum;
    load_scale_pairs(first, row_bytes, scale, minimum);
    store(to.scales, scale);
    store(to.minima, minimum);
  }
};

struct Q2K {
  using Units = TwoBitUnits;
  static constexpr int kBytes = 84;
  static constexpr int kBlocks = 8;
  static void unpack(const std::uint8_t* first, std::int64_t row_bytes, const Unpacked& to) {
    const I32x16 mask = each_byte(3);
    for (int half = 0; half < 2; ++half) {
      const RowBytes pairs = load_rows(first + 16 + 32 * half, row_bytes);
      for (int s = 0; s < 4; ++s) {
        for (int g = 0; g < 8; ++g) {
          store_group(to.weights + (half * 4 + s) * 512 + g * 64,
                      bits_of_bytes(pairs.group[g], 2 * s, mask));
        }
      }
    }
    I32x16 words[4];
    load_columns(first, row_bytes, words);
    F32x16 scale;
    F32x16 minimum;
    load_scale_pairs(first + 80, row_bytes, scale, minimum);
    minimum = splat(0.0F) - minimum;
    const I32x16 low = splat_int(15);
    for (int u = 0; u < 16; ++u) {
      store_scales(to.scales, u, scale * to_float(word_bits(words, u, 0) & low));
      store_scales(to.minima, u, minimum * to_float(word_bits(words, u, 4) & low));
    }
  }
};

struct Q3K {
  using Units = SixBitUnits;
  static constexpr int kBytes = 110;
  static constexpr int kBlocks = 8;
  static void unpack(const std::uint8_t* first, std::int64_t row_bytes, const Unpacked& to) {
    const I32x16 mask = each_byte(3);
    const I32x16 one = each_byte(1);
    const I32x16 added = each_byte(Units::kOffset - 4);
    const RowBytes thirds = load_rows(first, row_bytes);
    for (int half = 0; half < 2; ++half) {
      const RowBytes pairs = load_rows(first + 32 + 32 * half, row_bytes);
      for (int s = 0; s < 4; ++s) {
        for (int g = 0; g < 8; ++g) {
          const I32x16 third = shift_left<2>(bits_of_bytes(thirds.group[g], half * 4 + s, one));
          store_group(to.weights + (half * 4 + s) * 512 + g * 64,
                      bits_of_bytes(pairs.group[g], 2 * s, mask) + third + added);
        }
      }
    }
    // The scales begin at byte 96; reading from 94 on stays within the block.
    I32x16 words[4];
    load_columns(first + 94, row_bytes, words);
    F32x16 unused;
    F32x16 scale;
    load_scale_pairs(first + 106, row_bytes, unused, scale);
    for (int u = 0; u < 16; ++u) {
      const I32x16 low = word_bits(words, 2 + u % 8, u < 8 ? 0 : 4) & splat_int(15);
      const I32x16 high = word_bits(words, 10 + u % 4, u / 4 * 2) & splat_int(3);
      store_scales(to.scales, u, scale * to_float(low + shift_left<4>(high) - splat_int(32)));
    }
  }
};

/// The scales and minima of Q4_K and Q5_K from the first 16 bytes of a block.
inline void unpack_packed_scales(const std::uint8_t* first, std::int64_t row_bytes,
                                 const Unpacked& to) {
  I32x16 words[4];
  load_columns(first, row_bytes, words);
  F32x16 scale;
  F32x16 minimum;
  load_scale_pairs(first, row_bytes, scale, minimum);
  minimum = splat(0.0F) - minimum;
  const I32x16 six = splat_int(63);
  const I32x16 four = splat_int(15);
  const I32x16 two = splat_int(3);
  for (int j = 0; j < 4; ++j) {
    store_scales(to.scales, j, scale * to_float(shift_right(words[1], 8 * j) & six));
    store_scales(to.minima, j, minimum * to_float(shift_right(words[2], 8 * j) & six));
    const I32x16 scale_bits = (shift_right(words[3], 8 * j) & four) +
                              shift_left<4>(shift_right(words[1], 8 * j + 6) & two);
    const I32x16 minimum_bits = (shift_right(words[3], 8 * j + 4) & four) +
                                shift_left<4>(shift_right(words[2], 8 * j + 6) & two);
    store_scales(to.scales, 4 + j, scale * to_float(scale_bits));
    store_scales(to.minima, 4 + j, minimum * to_float(minimum_bits));
  }
}

struct Q4K {
  using Units = FiveBitUnits;
  static constexpr int kBytes = 144;
  static constexpr int kBlocks = 8;
  static void unpack(const std::uint8_t* first, std::int64_t row_bytes, const Unpacked& to) {
    unpack_packed_scales(first, row_bytes, to);
    const I32x16 low = each_byte(15);
    for (int pair = 0; pair < 4; ++pair) {
      const RowBytes nibbles = load_rows(first + 16 + 32 * pair, row_bytes);
      std::uint8_t* codes = to.weights + pair * 1024;
      for (int g = 0; g < 8; ++g) {
        store_group(codes + g * 64, nibbles.group[g] & low);
        store_group(codes + 512 + g * 64, bits_of_bytes(nibbles.group[g], 4, low));
      }
    }
  }
};

struct Q5K {
  using Units = FiveBitUnits;
  static constexpr int kBytes = 176;
  static constexpr int kBlocks = 8;
  static void unpack(const std::uint8_t* first, std::int64_t row_bytes, const Unpacked& to) {
    unpack_packed_scales(first, row_bytes, to);
    const I32x16 low = each_byte(15);
    const I32x16 one = each_byte(1);
    const RowBytes fifths = load_rows(first + 16, row_bytes);
    for (int pair = 0; pair < 4; ++pair) {
      const RowBytes nibbles = load_rows(first + 48 + 32 * pair, row_bytes);
      std::uint8_t* codes = to.weights + pair * 1024;
      for (int g = 0; g < 8; ++g) {
        const I32x16 even = bits_of_bytes(fifths.group[g], 2 * pair, one);
        const I32x16 odd = bits_of_bytes(fifths.group[g], 2 * pair + 1, one);
        store_group(codes + g * 64, (nibbles.group[g] & low) + shift_left<4>(even));
        store_group(codes + 512 + g * 64,
                    bits_of_bytes(nibbles.group[g], 4, low) + shift_left<4>(odd));
      }
    }
  }
};

struct Q6K {
  using Units = SixBitUnits;
  static constexpr int kBytes = 210;
  static constexpr int kBlocks = 8;
  static void unpack(const std::uint8_t* first, std::int64_t row_bytes, const Unpacked& to) {
    const I32x16 low = each_byte(15);
    const I32x16 two = each_byte(3);
    for (int half = 0; half < 2; ++half) {
      const RowBytes highs = load_rows(first + 128 + 32 * half, row_bytes);
      for (int part = 0; part < 2; ++part) {
        const RowBytes nibbles = load_rows(first + 64 * half + 32 * part, row_bytes);
        std::uint8_t* codes = to.weights + (half * 4 + part) * 512;
        for (int g = 0; g < 8; ++g) {
          const I32x16 first_high = bits_of_bytes(highs.group[g], 2 * part, two);
          const I32x16 second_high = bits_of_bytes(highs.group[g], 2 * part + 4, two);
          store_group(codes + g * 64, (nibbles.group[g] & low) + shift_left<4>(first_high));
          store_group(codes + 1024 + g * 64,
                      bits_of_bytes(nibbles.group[g], 4, low) + shift_left<4>(second_high));
        }
      }
    }
    I32x16 words[4];
    load_columns(first + 192, row_bytes, words);
    F32x16 unused;
    F32x16 scale;
    load_scale_pairs(first + 206, row_bytes, unused, scale);
    for (int w = 0; w < 4; ++w) {
      store_scales(to.scales, 4 * w, scale * to_float(shift_right<24>(shift_left<24>(words[w]))));
      store_scales(to.scales, 4 * w + 1,
                   scale * to_float(shift_right<24>(shift_left<16>(words[w]))));
      store_scales(to.scales, 4 * w + 2,
                   scale * to_float(shift_right<24>(shift_left<8>(words[w]))));
      store_scales(to.scales, 4 * w + 3, scale * to_float(shift_right<24>(words[w])));
    }
  }
};

struct Q8K {
  using Units = ByteUnits;
  static constexpr int kBytes = 292;
  static constexpr int kBlocks = 8;
  static void unpack(const std::uint8_t* first, std::int64_t row_bytes, const Unpacked& to) {
    const I32x16 sign = kByteOffset == 0 ? splat_int(0) : splat_int(INT32_MIN | 0x00808080);
    I32x16 words[4];
    load_columns(first, row_bytes, words);
    for (int s = 0; s < 8; ++s) {
      const RowBytes bytes = load_rows(first + 4 + 32 * s, row_bytes);
      for (int g = 0; g < 8; ++g) {
        store_group(to.weights + s * 512 + g * 64, bytes.group[g] ^ sign);
      }
      store_scales(to.scales, s, floats(words[0]));
    }
  }
};

}  // namespace
}  // namespace godwit::cpu
