#include "layers/attention.h"

#include <cmath>

#include "ops/attention.h"

namespace godwit {

Result<Attention> Attention::load(WeightsReader& reader, const std::string& prefix,
                                  const AttentionConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t q_width = config.num_heads * config.head_dim;
  const std::int64_t kv_width = config.num_kv_heads * config.head_dim;
  Attention attention;
  attention.config = config;
  attention.q_proj =
      TRY(Linear::load(reader, prefix + ".q_proj", hidden, q_width, config.qkv_bias));
  attention.k_proj =
      TRY(Linear::load(reader, prefix + ".k_proj", hidden, kv_width, config.qkv_bias));
  attention.v_proj =
      TRY(Linear::load(reader, prefix + ".v_proj", hidden, kv_width, config.qkv_bias));
  attention.o_proj = TRY(Linear::load(reader, prefix + ".o_proj", q_width, hidden, config.o_bias));
  if (config.qk_norm_epsilon) {
    const float epsilon = *config.qk_norm_epsilon;
    attention.q_norm = TRY(RmsNorm::load(reader, prefix + ".q_norm", config.head_dim, epsilon));
    attention.k_norm = TRY(RmsNorm::load(reader, prefix + ".k_norm", config.head_dim, epsilon));
  }
  return attention;
}

Status Attention::forward(const Context& context, const Rotary& rotary, const Tensor& x,
                          Tensor& residual) const {
  Workspace::Scope scope(context.stream.workspace());
  const std::int64_t tokens = x.dim(0);
  const std::int64_t q_width = config.num_heads * config.head_dim;
  const std::int64_t kv_width = config.num_kv_heads * config.head_dim;
  const Tensor qkv =
      TRY(context.stream.workspace().tensor(DType::kF32, {tokens, q_width + 2 * kv_width}));
  Tensor q_flat = qkv.slice(1, 0, q_width);
  Tensor k_flat = qkv.slice(1, q_width, kv_width);
  Tensor v_flat = qkv.slice(1, q_width + kv_width, kv_width);
  TRY(q_proj.forward(context, x, q_flat));
  TRY(k_proj.forward(context, x, k_flat));
  TRY(v_proj.forward(context, x, v_flat));

  Tensor q = q_flat.split_last(config.head_dim);
  Tensor k = k_flat.split_last(config.head_dim);
  const Tensor v = v_flat.split_last(config.head_dim);
  if (q_norm) {
    TRY(q_norm->forward(context, q, q));
    TRY(k_norm->forward(context, k, k));
  }
  TRY(rotary.forward(context, q));
  TRY(rotary.forward(context, k));

  // Here a token becomes an entry of the cache.
  const AttentionMetadata& where = context.attention;
  const LayerCache& cache = context.caches[static_cast<std::size_t>(config.layer)];
  TRY(ops::kv_write(
      context.stream,
      {.k = k, .v = v, .slots = where.slots, .k_cache = cache.k, .v_cache = cache.v}));

  Tensor heads = TRY(context.stream.workspace().tensor(DType::kF32, {tokens, q_width}));
  TRY(ops::attention(context.stream,
                     {.q = q,
                      .k_cache = cache.k,
                      .v_cache = cache.v,
                      .block_tables = where.block_tables,
                      .query_start = where.query_start,
                      .context_lens = where.context_lens,
                      .alibi_slopes = alibi_slopes,
                      .out = heads.split_last(config.head_dim),
                      .scale = 1.0F / std::sqrt(static_cast<float>(config.head_dim)),
                      .window = config.window}));
  return o_proj.forward_add(context, heads, residual);
}

}  // namespace godwit
