// Kernels on one row of activations. Included after a simd/ header.

#include "kernels/cpu/simd/exp.h"
// After what it is written over:
#include "kernels/cpu/body/widen_quant.h"
// Written over its lanes:
#include "kernels/cpu/body/widen_packed.h"
#include "kernels/cpu/simd/activation.h"
#include "kernels/cpu/simd/soft_cap.h"

namespace godwit::cpu {
namespace {

void rms_norm(const float* x, const float* weight, float* out, std::int64_t width, float epsilon) {
  F32x16 squares = splat(0.0F);
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    const F32x16 v = load(x + i);
    squares = fma(v, v, squares);
  }
  const F32x16 tail = load(x + i, width - i);
  squares = fma(tail, tail, squares);
  const float scale = 1.0F / __builtin_sqrtf(sum(squares) / static_cast<float>(width) + epsilon);
  const F32x16 scales = splat(scale);
  for (i = 0; i + 16 <= width; i += 16) {
    store(out + i, load(x + i) * scales * load(weight + i));
  }
  store(out + i, load(x + i, width - i) * scales * load(weight + i, width - i), 0, width - i);
}

void layer_norm(const float* x, const float* weight, const float* bias, float* out,
                std::int64_t width, float epsilon) {
  F32x16 total = splat(0.0F);
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    total = total + load(x + i);
  }
  total = total + load(x + i, width - i);
  const F32x16 mean = splat(sum(total) / static_cast<float>(width));
  F32x16 squares = splat(0.0F);
  for (i = 0; i + 16 <= width; i += 16) {
    const F32x16 v = load(x + i) - mean;
    squares = fma(v, v, squares);
  }
  const F32x16 tail = select_range(load(x + i, width - i) - mean, 0, width - i, splat(0.0F));
  squares = fma(tail, tail, squares);
  const F32x16 scale =
      splat(1.0F / __builtin_sqrtf(sum(squares) / static_cast<float>(width) + epsilon));
  const F32x16 none = splat(0.0F);
  for (i = 0; i + 16 <= width; i += 16) {
    const F32x16 shift = bias != nullptr ? load(bias + i) : none;
    store(out + i, (load(x + i) - mean) * scale * load(weight + i) + shift);
  }
  const std::int64_t rest = width - i;
  const F32x16 shift = bias != nullptr ? load(bias + i, rest) : none;
  store(out + i, (load(x + i, rest) - mean) * scale * load(weight + i, rest) + shift, 0, rest);
}

template <class Function>
void activation(const float* x, float* out, std::int64_t width) {
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    store(out + i, Function::of(load(x + i)));
  }
  store(out + i, Function::of(load(x + i, width - i)), 0, width - i);
}

template <class Function>
void gated_activation(const float* gate, const float* up, float* out, std::int64_t width) {
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    store(out + i, Function::of(load(gate + i)) * load(up + i));
  }
  store(out + i, Function::of(load(gate + i, width - i)) * load(up + i, width - i), 0, width - i);
}

void add(const float* x, float scale, float* out, std::int64_t width) {
  const F32x16 factor = splat(scale);
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    store(out + i, fma(factor, load(x + i), load(out + i)));
  }
  const std::int64_t rest = width - i;
  store(out + i, fma(factor, load(x + i, rest), load(out + i, rest)), 0, rest);
}

template <bool kCapped>
void scale_row(const float* x, float scale, float softcap, float* out, std::int64_t width) {
  const auto of = [&](const F32x16& v) __attribute__((always_inline)) {
    const F32x16 scaled = v * splat(scale);
    return kCapped ? soft_cap(scaled, softcap) : scaled;
  };
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    store(out + i, of(load(x + i)));
  }
  store(out + i, of(load(x + i, width - i)), 0, width - i);
}

void scale(const float* x, float scale, float softcap, float* out, std::int64_t width) {
  if (softcap != 0.0F) {
    scale_row<true>(x, scale, softcap, out, width);
  } else {
    scale_row<false>(x, scale, softcap, out, width);
  }
}

void rope_halves(float* x, const float* table, std::int64_t half) {
  for (std::int64_t i = 0; i < half; i += 16) {
    const std::int64_t count = half - i < 16 ? half - i : 16;
    const F32x16 a = load(x + i, count);
    const F32x16 b = load(x + half + i, count);
    const F32x16 cosine = load(table + i, count);
    const F32x16 sine = load(table + half + i, count);
    store(x + i, a * cosine - b * sine, 0, count);
    store(x + half + i, b * cosine + a * sine, 0, count);
  }
}

template <class T>
void widen_row(const void* from, float* to, std::int64_t count) {
  const T* source = static_cast<const T*>(from);
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    store(to + i, load(source + i));
  }
  store(to + i, load(source + i, count - i), 0, count - i);
}

void to_bfloat(const float* from, BFloat* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    store(to + i, load(from + i));
  }
  BFloat tail[16];
  store(tail, load(from + i, count - i));
  for (std::int64_t j = 0; i + j < count; ++j) {
    to[i + j] = tail[j];
  }
}

void round_to_bfloat(const float* from, float* to, std::int64_t count) {
  BFloat rounded[16];
  for (std::int64_t i = 0; i < count; i += 16) {
    const std::int64_t valid = count - i < 16 ? count - i : 16;
    store(rounded, load(from + i, valid));
    store(to + i, load(rounded), 0, valid);
  }
}

void quantize(const float* x, std::int64_t count, const QuantInputs& to) {
  const I32x16 magnitude = splat_int(0x7fffffff);
  const F32x16 magic = splat(12582912.0F);  // 1.5 * 2^23: adding it rounds to an integer.
  for (std::int64_t block = 0; block < count / 32; ++block) {
    const F32x16 a = load(x + block * 32);
    const F32x16 b = load(x + block * 32 + 16);
    // Compared as integers, a NaN is the largest, and so the scale becomes NaN.
    const std::int32_t top = max_lane(max(bits(a) & magnitude, bits(b) & magnitude));
    const float largest = __builtin_bit_cast(float, top);
    const bool zero = largest < 1e-30F;
    const float inverse = zero ? 0.0F : 127.0F / largest;
    const I32x16 low = bits(fma(a, splat(inverse), magic)) - bits(magic);
    const I32x16 high = bits(fma(b, splat(inverse), magic)) - bits(magic);
    const std::int64_t place = block * kQuantTile;
    store_bytes(to.q + place * 32, low);
    store_bytes(to.q + place * 32 + 16, high);
    to.scale[place] = zero ? 0.0F : largest / 127.0F;
    // Of a block with infinity or NaN the bytes mean nothing; its scale is no number either.
    to.first_sum[place] = top < 0x7f800000 ? sum(low) : 0;
    to.sum[place] = top < 0x7f800000 ? to.first_sum[place] + sum(high) : 0;
    to.scaled_sum[place] = to.scale[place] * static_cast<float>(to.sum[place]);
  }
}

constexpr RowKernels kRows = {
    .rms_norm = rms_norm,
    .layer_norm = layer_norm,
    .activation = {activation<Silu>, activation<GeluTanh>, activation<Gelu>, activation<Relu>,
                   activation<ReluSquared>, activation<QuickGelu>, activation<Sigmoid>},
    .gated_activation = {gated_activation<Silu>, gated_activation<GeluTanh>, gated_activation<Gelu>,
                         gated_activation<Relu>, gated_activation<ReluSquared>,
                         gated_activation<QuickGelu>, gated_activation<Sigmoid>},
    .add = add,
    .scale = scale,
    .rope_halves = rope_halves,
    .widen = {widen_row<float>,     widen_row<Half>,      widen_row<BFloat>,
              widen_q8_0,           widen_q4_0,           widen_q4_1,
              widen_q5_0,           widen_q5_1,           widen_super<WideQ2K>,
              widen_super<WideQ3K>, widen_super<WideQ4K>, widen_super<WideQ5K>,
              widen_super<WideQ6K>, widen_q8_k,           widen_i4<32>,
              widen_i4<64>,         widen_i4<128>,        widen_i8<32>,
              widen_i8<128>,        widen_mxfp4,          widen_f8<32>,
              widen_f8<128>},
    .to_bfloat = to_bfloat,
    .round_to_bfloat = round_to_bfloat,
    .quantize = quantize,
};

}  // namespace
}  // namespace godwit::cpu
