// Recurrences of one head or channel over consecutive tokens. Included after a simd/ header.
//
// A token's arithmetic does not depend on how many others the call has.

#include "kernels/cpu/simd/exp.h"

namespace godwit::cpu {
namespace {

/// kVectors * 16 columns of a head; kRowDecay: a decay for each row.
template <int kVectors, bool kDelta, bool kRowDecay>
void walk_head(const HeadItem& item) {
  for (std::int64_t t = 0; t < item.tokens; ++t) {
    const float* q = item.q + t * item.q_stride;
    const float* k = item.k + t * item.k_stride;
    const float* v = item.v + t * item.v_stride;
    const float* decay = item.decay + t * item.decay_stride;
    const F32x16 gain = splat(item.gain == nullptr ? 1.0F : item.gain[t * item.gain_stride]);
    F32x16 value[kVectors];
    F32x16 update[kVectors];
    F32x16 found[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      const std::int64_t left = item.columns - 16 * j;
      value[j] = load(v + 16 * j, left < 16 ? left : 16);
      update[j] = value[j];
      found[j] = splat(0.0F);
    }
    if (kDelta) {
      for (std::int64_t r = 0; r < item.rows; ++r) {
        const F32x16 keep = splat(decay[kRowDecay ? r : 0]);
        const F32x16 key = splat(k[r]);
        for (int j = 0; j < kVectors; ++j) {
          found[j] = fma(key, load(item.state + r * kHeadColumns + 16 * j) * keep, found[j]);
        }
      }
    }
    for (int j = 0; j < kVectors; ++j) {
      update[j] = (kDelta ? update[j] - found[j] : update[j]) * gain;
      found[j] = splat(0.0F);
    }
    for (std::int64_t r = 0; r < item.rows; ++r) {
      const F32x16 keep = splat(decay[kRowDecay ? r : 0]);
      const F32x16 key = splat(k[r]);
      const F32x16 query = splat(q[r]);
      for (int j = 0; j < kVectors; ++j) {
        float* state = item.state + r * kHeadColumns + 16 * j;
        const F32x16 s = fma(key, update[j], load(state) * keep);
        store(state, s);
        found[j] = fma(query, s, found[j]);
      }
    }
    float* out = item.out + t * item.out_stride;
    for (int j = 0; j < kVectors; ++j) {
      const std::int64_t left = item.columns - 16 * j;
      store(out + 16 * j, fma(splat(item.skip), value[j], found[j]), 0, left < 16 ? left : 16);
    }
  }
}

template <int kVectors>
void walk_columns(const HeadItem& item) {
  if (item.delta_rule) {
    item.decay_each_row ? walk_head<kVectors, true, true>(item)
                        : walk_head<kVectors, true, false>(item);
  } else {
    item.decay_each_row ? walk_head<kVectors, false, true>(item)
                        : walk_head<kVectors, false, false>(item);
  }
}

void head(const HeadItem& item) {
  switch ((item.columns + 15) / 16) {
    case 1:
      return walk_columns<1>(item);
    case 2:
      return walk_columns<2>(item);
    case 3:
      return walk_columns<3>(item);
    default:
      return walk_columns<4>(item);
  }
}

void channel(const ChannelItem& item) {
  for (std::int64_t t = 0; t < item.tokens; ++t) {
    const float x = item.x[t * item.x_stride];
    const float step = item.step[t * item.step_stride];
    const float* b = item.b + t * item.b_stride;
    const float* c = item.c + t * item.c_stride;
    const F32x16 taken = splat(step * x);
    F32x16 found = splat(0.0F);
    for (std::int64_t i = 0; i < item.size; i += 16) {
      const std::int64_t count = item.size - i < 16 ? item.size - i : 16;
      const F32x16 keep = exp(splat(step) * load(item.rate + i, count));
      const F32x16 h = fma(taken, load(b + i, count), load(item.state + i) * keep);
      store(item.state + i, h);
      found = fma(load(c + i, count), h, found);
    }
    item.out[t * item.out_stride] = sum(found) + item.skip * x;
  }
}

constexpr ScanKernels kScan = {.head = head, .channel = channel};

}  // namespace
}  // namespace godwit::cpu
