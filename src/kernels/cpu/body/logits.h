// Kernels on one row of logits, in which NaN counts as -infinity. Included after a simd/ header.

#include "kernels/cpu/simd/exp.h"

namespace godwit::cpu {
namespace {

constexpr float kInfinity = __builtin_inff();

/// Lanes past `count` hold -infinity.
inline F32x16 load_logits(const float* logits, std::int64_t count) {
  const F32x16 lowest = splat(-kInfinity);
  return count >= 16 ? load(logits) : select_range(load(logits, count), 0, count, lowest);
}

float max_logit(const float* logits, std::int64_t count) {
  F32x16 best[4];
  for (F32x16& v : best) {
    v = splat(-kInfinity);
  }
  std::int64_t i = 0;
  for (; i + 64 <= count; i += 64) {
    for (int j = 0; j < 4; ++j) {
      best[j] = max(load(logits + i + 16 * j), best[j]);
    }
  }
  for (; i < count; i += 16) {
    best[0] = max(load_logits(logits + i, count - i), best[0]);
  }
  return max_lane(max(max(best[0], best[1]), max(best[2], best[3])));
}

std::int64_t find_logit(const float* logits, std::int64_t count, float value) {
  const F32x16 wanted = splat(value);
  for (std::int64_t i = 0; i < count; i += 16) {
    std::uint32_t mask = equal(load_logits(logits + i, count - i), wanted);
    if (count - i < 16) {
      mask &= (1U << (count - i)) - 1U;
    }
    if (mask != 0) {
      return i + __builtin_ctz(mask);
    }
  }
  return -1;
}

std::int64_t count_above(const float* logits, std::int64_t count, float value) {
  std::int64_t total = 0;
  const F32x16 limit = splat(value);
  for (std::int64_t i = 0; i < count; i += 16) {
    total += __builtin_popcount(above(load_logits(logits + i, count - i), limit));
  }
  return total;
}

double softmax_terms(const float* logits, std::int64_t count, float largest, float temperature,
                     float* out) {
  double sums[8] = {};
  const F32x16 offset = splat(largest);
  const F32x16 divisor = splat(temperature);
  const F32x16 lowest = splat(-kInfinity);
  for (std::int64_t i = 0; i < count; i += 16) {
    const F32x16 known = max(load_logits(logits + i, count - i), lowest);  // NaN: the second.
    const F32x16 term = exp((known - offset) / divisor);
    add_to_doubles(term, sums);
    if (out != nullptr) {
      store(out + i, term, 0, count - i < 16 ? count - i : 16);
    }
  }
  double total = 0.0;
  for (const double part : sums) {
    total += part;
  }
  return total;
}

constexpr LogitsKernels kLogits = {.max = max_logit,
                                   .find = find_logit,
                                   .count_above = count_above,
                                   .softmax_terms = softmax_terms};

}  // namespace
}  // namespace godwit::cpu
