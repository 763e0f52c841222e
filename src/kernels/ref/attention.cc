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

/// One query over the positions [first, last] of sequence `s`.
void attend(const AttentionParams& params, std::int64_t s, std::int64_t token, std::int64_t head,
            std::int64_t first, std::int64_t last) {
  const std::int64_t head_dim = params.q.dim(2);
  const std::int64_t kv_head = head / (params.q.dim(1) / params.k_cache.dim(1));
  const std::int64_t block_size = params.k_cache.dim(2);
  const float* q = float_row(params.q, token) + head * params.q.stride(1);
  const auto* table = static_cast<const std::int32_t*>(params.block_tables.data) +
                      s * params.block_tables.stride(0);
  const auto* k_data = static_cast<const std::byte*>(params.k_cache.data);
  const auto* v_data = static_cast<const std::byte*>(params.v_cache.data);

  std::vector<double> weights;
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t p = first; p <= last; ++p) {
    const std::int64_t k =
        cache_offset(params.k_cache, table[p / block_size], kv_head, p % block_size);
    double score = 0.0;
    for (std::int64_t d = 0; d < head_dim; ++d) {
      score += static_cast<double>(q[d]) * element(params.k_cache.dtype, k_data, k + d);
    }
    weights.push_back(biased_score(params, score, head, p - last));
    largest = std::max(largest, weights.back());
  }
  double total = 0.0;
  for (double& weight : weights) {
    weight = std::exp(weight - largest);
    total += weight;
  }
  float* out = float_row(params.out, token) + head * params.out.stride(1);
  for (std::int64_t d = 0; d < head_dim; ++d) {
    double sum = 0.0;
    for (std::int64_t p = first; p <= last; ++p) {
      const std::int64_t v =
          cache_offset(params.v_cache, table[p / block_size], kv_head, p % block_size);
      sum += weights[static_cast<std::size_t>(p - first)] *
             element(params.v_cache.dtype, v_data, v + d);
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
  const std::int64_t block_size = params.k_cache.dim(2);
  for (std::int64_t t = 0; t < params.k.dim(0); ++t) {
    const auto slot = at<std::int64_t>(params.slots, t);
    if (slot < 0) {
      continue;
    }
    for (std::int64_t h = 0; h < params.k.dim(1); ++h) {
      const std::int64_t k = cache_offset(params.k_cache, slot / block_size, h, slot % block_size);
      const std::int64_t v = cache_offset(params.v_cache, slot / block_size, h, slot % block_size);
      for (std::int64_t d = 0; d < params.k.dim(2); ++d) {
        store(params.k_cache, k + d, (float_row(params.k, t) + h * params.k.stride(1))[d]);
        store(params.v_cache, v + d, (float_row(params.v, t) + h * params.v.stride(1))[d]);
      }
    }
  }
  return {};
}

Status attention(Stream& /*stream*/, const AttentionParams& params) {
  for (std::int64_t s = 0; s < params.context_lens.dim(0); ++s) {
    const std::int64_t begin = at<std::int32_t>(params.query_start, s);
    const std::int64_t end = at<std::int32_t>(params.query_start, s + 1);
    const std::int64_t context = at<std::int32_t>(params.context_lens, s);
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t position = context - (end - t);
      const std::int64_t first =
          params.window > 0 ? std::max<std::int64_t>(0, position - params.window + 1) : 0;
      for (std::int64_t h = 0; h < params.q.dim(1); ++h) {
        attend(params, s, t, h, first, position);
      }
    }
  }
  return {};
}

}  // namespace godwit::ref
