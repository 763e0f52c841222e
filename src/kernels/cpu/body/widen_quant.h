// Quantised rows widened exactly, 16 elements at a time. What the bits of a block mean is in
// kernels/ref/super_blocks.h. Included after a simd/ header.

namespace godwit::cpu {
namespace {

inline F32x16 splat_half(const std::uint8_t* from) {
  Half halves[16] = {};
  __builtin_memcpy(halves, from, sizeof(Half));
  float widened[16];
  store(widened, load(halves));
  return splat(widened[0]);
}

void widen_q8_0(const void* from, float* to, std::int64_t count) {
  const auto* block = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; i += 32, block += 34) {
    const F32x16 scale = splat_half(block);
    const auto* q = reinterpret_cast<const std::int8_t*>(block + 2);
    store(to + i, scale * load_bytes(q));
    store(to + i + 16, scale * load_bytes(q + 16));
  }
}

void widen_q4_0(const void* from, float* to, std::int64_t count) {
  const auto* block = static_cast<const std::uint8_t*>(from);
  const F32x16 eight = splat(8.0F);
  for (std::int64_t i = 0; i < count; i += 32, block += 18) {
    const F32x16 scale = splat_half(block);
    store(to + i, scale * (load_low_nibbles(block + 2) - eight));
    store(to + i + 16, scale * (load_high_nibbles(block + 2) - eight));
  }
}

void widen_q4_1(const void* from, float* to, std::int64_t count) {
  const auto* block = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; i += 32, block += 20) {
    const F32x16 scale = splat_half(block);
    const F32x16 minimum = splat_half(block + 2);
    store(to + i, fma(scale, load_low_nibbles(block + 4), minimum));
    store(to + i + 16, fma(scale, load_high_nibbles(block + 4), minimum));
  }
}

/// Sixteen fifth bits, from two bytes, as 16 or 0.
inline I32x16 fifth_bits_of(const std::uint8_t* from) {
  std::uint8_t apart[16];
  for (int half = 0; half < 2; ++half) {
    // Bit i of the byte is kept in byte i, then moved to its top and down to bit 4.
    std::uint64_t bytes = (from[half] * 0x0101010101010101U) & 0x8040201008040201U;
    bytes = (bytes + 0x7f7f7f7f7f7f7f7fU) >> 3 & 0x1010101010101010U;
    __builtin_memcpy(apart + 8 * half, &bytes, sizeof(bytes));
  }
  return load_unsigned_bytes(apart);
}

/// Of Q5_0 and Q5_1; `fifths` is where the fifth bits begin.
inline void widen_fifths(const std::uint8_t* fifths, float* to, F32x16 scale, F32x16 minimum,
                         std::int32_t offset) {
  const I32x16 nibbles = load_unsigned_bytes(fifths + 4);
  const I32x16 subtracted = splat_int(offset);
  const I32x16 low = (nibbles & splat_int(15)) + fifth_bits_of(fifths) - subtracted;
  const I32x16 high = shift_right<4>(nibbles) + fifth_bits_of(fifths + 2) - subtracted;
  store(to, fma(scale, to_float(low), minimum));
  store(to + 16, fma(scale, to_float(high), minimum));
}

void widen_q5_0(const void* from, float* to, std::int64_t count) {
  const auto* block = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; i += 32, block += 22) {
    widen_fifths(block + 2, to + i, splat_half(block), splat(-0.0F), 16);
  }
}

void widen_q5_1(const void* from, float* to, std::int64_t count) {
  const auto* block = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; i += 32, block += 24) {
    widen_fifths(block + 4, to + i, splat_half(block), splat_half(block + 2), 0);
  }
}

/// Bits [2 * pair, 2 * pair + 2) of 16 bytes.
inline I32x16 bit_pairs(const std::uint8_t* from, int pair) {
  return shift_right(load_unsigned_bytes(from), 2 * pair) & splat_int(3);
}

/// Nibbles of 16 bytes, the high ones where `high` is 1.
inline I32x16 nibbles_of(const std::uint8_t* from, int high) {
  return shift_right(load_unsigned_bytes(from), 4 * high) & splat_int(15);
}

/// One bit of 16 bytes.
inline I32x16 bits_at(const std::uint8_t* from, int bit) {
  return shift_right(load_unsigned_bytes(from), bit) & splat_int(1);
}

/// Sixteen elements: their integers, and the factors of the block's d (and of its minimum).
struct WideUnit {
  I32x16 q;
  std::int32_t scale;
  std::int32_t minimum;
};

struct WideQ2K {
  static constexpr int kBytes = 84;
  static constexpr int kScale = 80;
  static constexpr int kMinimum = 82;
  static WideUnit unit(const std::uint8_t* block, int u) {
    return {bit_pairs(block + 16 + u / 8 * 32 + u % 2 * 16, u % 8 / 2), block[u] & 15,
            block[u] >> 4};
  }
};

struct WideQ3K {
  static constexpr int kBytes = 110;
  static constexpr int kScale = 108;
  static constexpr int kMinimum = -1;
  static WideUnit unit(const std::uint8_t* block, int u) {
    const std::uint8_t* packed = block + 96;
    const I32x16 thirds = bits_at(block + u % 2 * 16, u / 2);
    const I32x16 q = bit_pairs(block + 32 + u / 8 * 32 + u % 2 * 16, u % 8 / 2);
    const int low = packed[u % 8] >> (u < 8 ? 0 : 4) & 15;
    const int high = packed[8 + u % 4] >> (u / 4 * 2) & 3;
    return {q + shift_left<2>(thirds) - splat_int(4), (low | high << 4) - 32, 0};
  }
};

/// Of Q4_K and Q5_K; `q` are those of unit `u`.
inline WideUnit with_packed_scales(const std::uint8_t* block, int u, const I32x16& q) {
  const std::uint8_t* packed = block + 4;
  const int j = u / 2;
  if (j < 4) {
    return {q, packed[j] & 63, packed[j + 4] & 63};
  }
  return {q, (packed[j + 4] & 15) | packed[j - 4] >> 6 << 4,
          packed[j + 4] >> 4 | packed[j] >> 6 << 4};
}

struct WideQ4K {
  static constexpr int kBytes = 144;
  static constexpr int kScale = 0;
  static constexpr int kMinimum = 2;
  static WideUnit unit(const std::uint8_t* block, int u) {
    return with_packed_scales(block, u,
                              nibbles_of(block + 16 + u / 4 * 32 + u % 2 * 16, u / 2 % 2));
  }
};

struct WideQ5K {
  static constexpr int kBytes = 176;
  static constexpr int kScale = 0;
  static constexpr int kMinimum = 2;
  static WideUnit unit(const std::uint8_t* block, int u) {
    const I32x16 fifths = bits_at(block + 16 + u % 2 * 16, u / 2);
    const I32x16 low = nibbles_of(block + 48 + u / 4 * 32 + u % 2 * 16, u / 2 % 2);
    return with_packed_scales(block, u, low + shift_left<4>(fifths));
  }
};

struct WideQ6K {
  static constexpr int kBytes = 210;
  static constexpr int kScale = 208;
  static constexpr int kMinimum = -1;
  static WideUnit unit(const std::uint8_t* block, int u) {
    const I32x16 low = nibbles_of(block + u / 8 * 64 + u % 4 * 16, u / 4 % 2);
    const I32x16 high = bit_pairs(block + 128 + u / 8 * 32 + u % 2 * 16, u % 8 / 2);
    return {low + shift_left<4>(high) - splat_int(32), static_cast<std::int8_t>(block[192 + u]), 0};
  }
};

/// d * scale * q - e * minimum. Products are exact, so that the fma rounds once, as the difference
/// of the two does; -0 leaves the sign of a zero as it is.
template <class Q>
void widen_super(const void* from, float* to, std::int64_t count) {
  const auto* block = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; i += 256, block += Q::kBytes) {
    const F32x16 d = splat_half(block + Q::kScale);
    F32x16 e = d;
    if constexpr (Q::kMinimum >= 0) {
      e = splat_half(block + Q::kMinimum);
    }
    for (int u = 0; u < 16; ++u) {
      const WideUnit unit = Q::unit(block, u);
      const F32x16 scale = d * splat(static_cast<float>(unit.scale));
      F32x16 minimum = splat(-0.0F);
      if constexpr (Q::kMinimum >= 0) {
        minimum = e * splat(-static_cast<float>(unit.minimum));
      }
      store(to + i + u * 16, fma(scale, to_float(unit.q), minimum));
    }
  }
}

void widen_q8_k(const void* from, float* to, std::int64_t count) {
  const auto* block = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; i += 256, block += 292) {
    float d;
    __builtin_memcpy(&d, block, sizeof(d));
    for (int u = 0; u < 256; u += 16) {
      store(to + i + u, splat(d) * load_bytes(reinterpret_cast<const std::int8_t*>(block + 4 + u)));
    }
  }
}

}  // namespace
}  // namespace godwit::cpu
