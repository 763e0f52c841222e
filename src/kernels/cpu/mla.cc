// Products with a matrix a head, and the choice of positions of sparse attention.

#include <cmath>
#include <limits>

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"

namespace godwit::cpu {
namespace {

/// Columns that a thread takes at a time.
constexpr std::int64_t kColumns = 64;
/// Scores computed before the next tokens, in bytes: what they take from the workspace.
constexpr std::int64_t kScoreBytes = std::int64_t{32} << 20;
/// Tokens whose index queries meet a page of keys together.
constexpr std::int64_t kIndexTokens = 16;

/// The columns [begin, end) of one head. `w` is its matrix, of type `kind`.
void multiply_head(const IsaKernels& isa, const HeadGemmParams& params, std::int64_t head,
                   const void* w, WeightKind kind, std::int64_t begin, std::int64_t end) {
  const std::int64_t element_bytes = kind == WeightKind::kF32 ? 4 : 2;
  const auto* x = static_cast<const float*>(params.x.data) + head * params.x.stride(1);
  float* out = static_cast<float*>(params.out.data) + head * params.out.stride(1) + begin;
  const std::int64_t width = params.weight.dim(2);
  const std::int64_t skipped = params.transposed ? begin : begin * width;
  w = static_cast<const std::byte*>(w) + skipped * element_bytes;
  if (params.transposed) {
    isa.float_gemm->columns[static_cast<int>(kind)]({.x = x,
                                                     .x_stride = params.x.stride(0),
                                                     .rows = params.x.dim(0),
                                                     .k = params.x.dim(2),
                                                     .w = w,
                                                     .w_stride = width,
                                                     .n = end - begin,
                                                     .out = out,
                                                     .out_stride = params.out.stride(0)});
    return;
  }
  isa.float_gemm->gemm[static_cast<int>(kind)]({.x = x,
                                                .x_stride = params.x.stride(0),
                                                .rows = params.x.dim(0),
                                                .k = params.x.dim(2),
                                                .w = w,
                                                .n = end - begin,
                                                .bias = nullptr,
                                                .out = out,
                                                .out_stride = params.out.stride(0),
                                                .accumulate = false});
}

/// Quantised matrices are widened a head at a time.
Status widening_head_gemm(const IsaKernels& isa, Stream& stream, const HeadGemmParams& params) {
  const Workspace::Scope scope(stream.workspace());
  ThreadPool& threads = threads_of(stream);
  const std::int64_t heads = params.weight.dim(0);
  const std::int64_t count = params.weight.dim(1) * params.weight.dim(2);
  auto* widened = TRY(take<float>(stream, count * threads.size()));
  threads.run([&](int thread) {
    float* matrix = widened + thread * count;
    for (std::int64_t h = heads * thread / threads.size();
         h < heads * (thread + 1) / threads.size(); ++h) {
      widen(isa, params.weight.dtype, row_at(params.weight, h), matrix, count);
      multiply_head(isa, params, h, matrix, WeightKind::kF32, 0, params.out.dim(2));
    }
  });
  return {};
}

/// Some tokens of one sequence, and where their scores go.
struct ScoredTokens {
  std::int64_t sequence;
  std::int64_t first;  ///< Token.
  std::int64_t count;
  std::int64_t position;  ///< Of the first token.
  float* scores;          ///< [count, length]; null where all positions are chosen
  std::int64_t length;    ///< Positions up to the last token's own.
};

/// Adds up the heads of one token: `dots` is [heads, block_size].
void sum_heads(const float* dots, const float* weights, std::int64_t heads, std::int64_t block_size,
               float* scores, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    float score = 0.0F;
    for (std::int64_t h = 0; h < heads; ++h) {
      const float dot = dots[h * block_size + i];
      score += weights[h] * (dot < 0.0F ? 0.0F : dot);
    }
    scores[i] = std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
  }
}

/// Scores of the keys of page number `page` of the sequence. `dots` holds kIndexTokens * heads *
/// block_size numbers.
void score_page(const IsaKernels& isa, const ChoosePositionsParams& params,
                const ScoredTokens& tokens, std::int64_t page, float* dots) {
  const Tensor& cache = params.index_cache;
  const std::int64_t block_size = cache.dim(2);
  const std::int64_t heads = params.q.dim(1);
  const std::int64_t begin = page * block_size;
  const std::int64_t keys = std::min(block_size, tokens.length - begin);
  const std::int64_t block = row_of<std::int32_t>(params.block_tables, tokens.sequence)[page];
  for (std::int64_t first = 0; first < tokens.count; first += kIndexTokens) {
    const std::int64_t count = std::min(kIndexTokens, tokens.count - first);
    for (std::int64_t t = 0; t < count; ++t) {
      isa.float_gemm->gemm[static_cast<int>(kind_of(cache.dtype))](
          {.x = row_of<float>(params.q, tokens.first + first + t),
           .x_stride = params.q.stride(1),
           .rows = heads,
           .k = cache.dim(3),
           .w = row_at(cache, block),
           .n = keys,
           .bias = nullptr,
           .out = dots + t * heads * block_size,
           .out_stride = block_size,
           .accumulate = false});
    }
    for (std::int64_t t = 0; t < count; ++t) {
      const std::int64_t visible =
          std::clamp<std::int64_t>(tokens.position + first + t + 1 - begin, 0, keys);
      sum_heads(dots + t * heads * block_size,
                row_of<float>(params.weights, tokens.first + first + t), heads, block_size,
                tokens.scores + (first + t) * tokens.length + begin, visible);
    }
  }
}

/// The `most` positions with the largest scores for token `t` of `tokens`, rising. `order` holds
/// tokens.length numbers.
void choose(const ScoredTokens& tokens, std::int64_t t, std::int64_t most, std::int32_t* order,
            std::int32_t* chosen) {
  const std::int64_t length = tokens.position + t + 1;
  const std::int64_t count = std::min(length, most);
  for (std::int64_t p = 0; p < length; ++p) {
    order[p] = static_cast<std::int32_t>(p);
  }
  if (count < length) {
    const float* scores = tokens.scores + t * tokens.length;
    std::nth_element(order, order + count, order + length, [&](std::int32_t a, std::int32_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
    std::sort(order, order + count);
  }
  std::copy(order, order + count, chosen);
  std::fill(chosen + count, chosen + most, -1);
}

Status choose_for(const IsaKernels& isa, Stream& stream, const ChoosePositionsParams& params,
                  ScoredTokens tokens) {
  const Workspace::Scope scope(stream.workspace());
  ThreadPool& threads = threads_of(stream);
  const std::int64_t most = params.chosen.dim(1);
  const std::int64_t block_size = params.index_cache.dim(2);
  if (tokens.length > most) {
    const std::int64_t each = std::min(tokens.count, kIndexTokens) * params.q.dim(1) * block_size;
    auto* dots = TRY(take<float>(stream, each * threads.size()));
    tokens.scores = TRY(take<float>(stream, tokens.count * tokens.length));
    const std::int64_t pages = (tokens.length + block_size - 1) / block_size;
    threads.run([&](int thread) {
      for (std::int64_t page = pages * thread / threads.size();
           page < pages * (thread + 1) / threads.size(); ++page) {
        score_page(isa, params, tokens, page, dots + thread * each);
      }
    });
  }
  auto* orders = TRY(take<std::int32_t>(stream, tokens.length * threads.size()));
  threads.run([&](int thread) {
    for (std::int64_t t = tokens.count * thread / threads.size();
         t < tokens.count * (thread + 1) / threads.size(); ++t) {
      choose(tokens, t, most, orders + thread * tokens.length,
             row_of<std::int32_t>(params.chosen, tokens.first + t));
    }
  });
  return {};
}

}  // namespace

Status head_gemm(const IsaKernels& isa, Stream& stream, const HeadGemmParams& params) {
  if (params.x.dim(0) == 0) {
    return {};
  }
  const DType dtype = params.weight.dtype;
  if (is_quantized(dtype)) {
    return widening_head_gemm(isa, stream, params);
  }
  const std::int64_t n = params.out.dim(2);
  const std::int64_t tiles = (n + kColumns - 1) / kColumns;
  const std::int64_t touched = kColumns * params.x.dim(2);
  split(stream, params.x.dim(1) * tiles, touched, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t column = unit % tiles * kColumns;
      multiply_head(isa, params, unit / tiles, row_at(params.weight, unit / tiles), kind_of(dtype),
                    column, std::min(n, column + kColumns));
    }
  });
  return {};
}

Status choose_positions(const IsaKernels& isa, Stream& stream,
                        const ChoosePositionsParams& params) {
  for (std::int64_t s = 0; s < params.context_lens.dim(0); ++s) {
    const std::int64_t begin = element<std::int32_t>(params.query_start, s);
    const std::int64_t end = element<std::int32_t>(params.query_start, s + 1);
    const std::int64_t context = element<std::int32_t>(params.context_lens, s);
    const std::int64_t together =
        std::max<std::int64_t>(1, kScoreBytes / static_cast<std::int64_t>(sizeof(float)) /
                                      std::max<std::int64_t>(1, context));
    for (std::int64_t t = begin; t < end; t += together) {
      const std::int64_t count = std::min(together, end - t);
      const std::int64_t position = context - (end - t);
      TRY(choose_for(isa, stream, params,
                     {.sequence = s,
                      .first = t,
                      .count = count,
                      .position = position,
                      .scores = nullptr,
                      .length = position + count}));
    }
  }
  return {};
}

}  // namespace godwit::cpu
