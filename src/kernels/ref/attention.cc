// Rotary positions, the paged cache, and attention over it.

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/ref/element.h"
#include "kernels/ref/ref_kernels.h"

namespace godwit::ref {
namespace {

/// Offset, in elements, of channel 0 of (block, head, offset in the block).
std::int64_t cache_offset(const Tensor& cache, std::int64_t block, std::int64_t head,
                          std::int64_t offset) {
  return block * cache.stride(0) + head * cache.stride(1) + offset * cache.stride(2);
}

void store(const Tensor& cache, std::int64_t index, float value) {
  if (cache.dtype == DType::kF32) {
    static_cast<float*>(cache.data)[index] = value;
  } else {
    static_cast<std::uint16_t*>(cache.data)[index] = float_to_bfloat(value);
  }
}

/// Copies the rows of `from` [tokens, heads, width] to their slots.
void write_slots(const Tensor& from, const Tensor& slots, const Tensor& cache) {
  const std::int64_t block_size = cache.dim(2);
  for (std::int64_t t = 0; t < from.dim(0); ++t) {
    const auto slot = at<std::int64_t>(slots, t);
    if (slot < 0) {
      continue;
    }
    for (std::int64_t h = 0; h < from.dim(1); ++h) {
      const std::int64_t to = cache_offset(cache, slot / block_size, h, slot % block_size);
      for (std::int64_t d = 0; d < from.dim(2); ++d) {
        store(cache, to + d, (float_row(from, t) + h * from.stride(1))[d]);
      }
    }
  }
}

/// The score of a key `distance` positions from the query, which is not positive.
double biased_score(const AttentionParams& params, double dot, std::int64_t head,
                    std::int64_t distance) {
  double score = dot * static_cast<double>(params.scale);
  if (params.softcap != 0.0F) {
    const auto cap = static_cast<double>(params.softcap);
    score = cap * std::tanh(score / cap);
  }
  if (!params.alibi_slopes.empty()) {
    score +=
        static_cast<double>(at<float>(params.alibi_slopes, head)) * static_cast<double>(distance);
  }
  return score;
}

/// What the token at `position` attends to, rising.
std::vector<std::int64_t> seen_positions(const AttentionParams& params, std::int64_t token,
                                         std::int64_t position) {
  std::vector<std::int64_t> seen;
  if (!params.chosen.empty()) {
    const std::int64_t count = std::min(position + 1, params.chosen.dim(1));
    const auto* row =
        static_cast<const std::int32_t*>(params.chosen.data) + token * params.chosen.stride(0);
    seen.assign(row, row + count);
    return seen;
  }
  std::int64_t first =
      params.window > 0 ? std::max<std::int64_t>(0, position - params.window + 1) : 0;
  if (params.chunk > 0) {
    first = std::max(first, position - position % params.chunk);
  }
  for (std::int64_t p = first; p <= position; ++p) {
    seen.push_back(p);
  }
  return seen;
}

/// One query of sequence `s` over the positions `seen`, of which the last one is its own unless it
/// chose others.
void attend(const AttentionParams& params, std::int64_t s, std::int64_t token, std::int64_t head,
            const std::vector<std::int64_t>& seen) {
  const std::int64_t kv_head = head / (params.q.dim(1) / params.k_cache.dim(1));
  const std::int64_t block_size = params.k_cache.dim(2);
  const float* q = float_row(params.q, token) + head * params.q.stride(1);
  const auto* table = static_cast<const std::int32_t*>(params.block_tables.data) +
                      s * params.block_tables.stride(0);
  const auto* k_data = static_cast<const std::byte*>(params.k_cache.data);
  const auto* v_data = static_cast<const std::byte*>(params.v_cache.data);

  std::vector<double> weights;
  const bool has_sink = !params.sinks.empty();
  const double sink = has_sink ? element(params.sinks.dtype, row_data(params.sinks, head), 0) : 0.0;
  double largest = has_sink ? sink : -std::numeric_limits<double>::infinity();
  for (const std::int64_t p : seen) {
    const std::int64_t k =
        cache_offset(params.k_cache, table[p / block_size], kv_head, p % block_size);
    double score = 0.0;
    for (std::int64_t d = 0; d < params.q.dim(2); ++d) {
      score += static_cast<double>(q[d]) * element(params.k_cache.dtype, k_data, k + d);
    }
    weights.push_back(biased_score(params, score, head, p - seen.back()));
    largest = std::max(largest, weights.back());
  }
  double total = has_sink ? std::exp(sink - largest) : 0.0;
  for (double& weight : weights) {
    weight = std::exp(weight - largest);
    total += weight;
  }
  float* out = float_row(params.out, token) + head * params.out.stride(1);
  for (std::int64_t d = 0; d < params.out.dim(2); ++d) {
    double sum = 0.0;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const std::int64_t v =
          cache_offset(params.v_cache, table[seen[i] / block_size], kv_head, seen[i] % block_size);
      sum += weights[i] * element(params.v_cache.dtype, v_data, v + d);
    }
    out[d] = static_cast<float>(sum / total);
  }
}

}  // namespace

Status rope(Stream& /*stream*/, const RopeParams& params) {
  const std::int64_t half = params.cos_sin.dim(1) / 2;
  for (std::int64_t t = 0; t < params.x.dim(0); ++t) {
    const float* table = float_row(params.cos_sin, at<std::int32_t>(params.positions, t));
    for (std::int64_t h = 0; h < params.x.dim(1); ++h) {
      float* x = float_row(params.x, t) + h * params.x.stride(1);
      for (std::int64_t i = 0; i < half; ++i) {
        float& first = params.interleaved ? x[2 * i] : x[i];
        float& second = params.interleaved ? x[2 * i + 1] : x[i + half];
        const auto a = static_cast<double>(first);
        const auto b = static_cast<double>(second);
        const auto cosine = static_cast<double>(table[i]);
        const auto sine = static_cast<double>(table[half + i]);
        first = static_cast<float>(a * cosine - b * sine);
        second = static_cast<float>(b * cosine + a * sine);
      }
    }
  }
  return {};
}

Status kv_write(Stream& /*stream*/, const KvWriteParams& params) {
  write_slots(params.k, params.slots, params.k_cache);
  if (!params.v.empty()) {
    write_slots(params.v, params.slots, params.v_cache);
  }
  return {};
}

Status attention(Stream& /*stream*/, const AttentionParams& params) {
  for (std::int64_t s = 0; s < params.context_lens.dim(0); ++s) {
    const std::int64_t begin = at<std::int32_t>(params.query_start, s);
    const std::int64_t end = at<std::int32_t>(params.query_start, s + 1);
    const std::int64_t context = at<std::int32_t>(params.context_lens, s);
    for (std::int64_t t = begin; t < end; ++t) {
      const std::vector<std::int64_t> seen = seen_positions(params, t, context - (end - t));
      for (std::int64_t h = 0; h < params.q.dim(1); ++h) {
        attend(params, s, t, h, seen);
      }
    }
  }
  return {};
}

}  // namespace godwit::ref
