#include "layers/attention.h"

#include <cmath>

#include "ops/attention.h"
#include "ops/dense.h"

namespace godwit {

Result<Attention> Attention::load(WeightsReader& reader, const std::string& prefix,
                                  const AttentionConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t q_width = config.num_heads * config.head_dim;
  const std::int64_t k_width = config.num_kv_heads * config.head_dim;
  const std::int64_t v_width = config.num_kv_heads * config.value_width();
  const bool bias = config.qkv_bias;
  Attention attention;
  attention.config = config;
  if (config.fused_qkv) {
    const Linear all =
        TRY(Linear::load(reader, prefix + ".qkv_proj", hidden, q_width + k_width + v_width, bias));
    attention.q_proj = all.rows(0, q_width);
    attention.k_proj = all.rows(q_width, k_width);
    attention.v_proj = all.rows(q_width + k_width, v_width);
  } else {
    attention.q_proj = TRY(Linear::load(reader, prefix + ".q_proj", hidden, q_width, bias));
    attention.k_proj = TRY(Linear::load(reader, prefix + ".k_proj", hidden, k_width, bias));
    attention.v_proj = TRY(Linear::load(reader, prefix + ".v_proj", hidden, v_width, bias));
  }
  attention.o_proj = TRY(Linear::load(
      reader, prefix + ".o_proj", config.num_heads * config.value_width(), hidden, config.o_bias));
  if (config.sinks != nullptr) {
    attention.sinks =
        TRY(reader.read(prefix + "." + config.sinks, {config.num_heads}, WeightKind::kVector));
  }
  if (config.qk_norm) {
    const bool row = config.qk_norm->whole_row;
    const RmsNormConfig& norm = config.qk_norm->norm;
    attention.q_norm = TRY(RmsNorm::load(reader, prefix + "." + config.qk_norm->q,
                                         row ? q_width : config.head_dim, norm));
    attention.k_norm = TRY(RmsNorm::load(reader, prefix + "." + config.qk_norm->k,
                                         row ? k_width : config.head_dim, norm));
  }
  return attention;
}

Status Attention::normalize(const Context& context, Tensor& q, Tensor& k) const {
  if (!q_norm) {
    return {};
  }
  if (config.qk_norm->whole_row) {
    TRY(q_norm->forward(context, q, q));
    return k_norm->forward(context, k, k);
  }
  Tensor q_heads = q.split_last(config.head_dim);
  Tensor k_heads = k.split_last(config.head_dim);
  TRY(q_norm->forward(context, q_heads, q_heads));
  return k_norm->forward(context, k_heads, k_heads);
}

Result<Tensor> Attention::attend(const Context& context, const Rotary& rotary,
                                 const Tensor& x) const {
  const std::int64_t tokens = x.dim(0);
  const std::int64_t q_width = config.num_heads * config.head_dim;
  const std::int64_t k_width = config.num_kv_heads * config.head_dim;
  const std::int64_t v_width = config.num_kv_heads * config.value_width();
  const Tensor qkv =
      TRY(context.stream.workspace().tensor(DType::kF32, {tokens, q_width + k_width + v_width}));
  Tensor q_flat = qkv.slice(1, 0, q_width);
  Tensor k_flat = qkv.slice(1, q_width, k_width);
  Tensor v_flat = qkv.slice(1, q_width + k_width, v_width);
  TRY(q_proj.forward(context, x, q_flat));
  TRY(k_proj.forward(context, x, k_flat));
  TRY(v_proj.forward(context, x, v_flat));
  if (!config.qk_norm || !config.qk_norm->after_rope) {
    TRY(normalize(context, q_flat, k_flat));
  }
  if (config.qkv_limit > 0.0F) {
    TRY(ops::clamp(context.stream, {.x = qkv, .out = qkv, .limit = config.qkv_limit}));
  }

  if (config.value_scale != 1.0F) {
    TRY(ops::scale(context.stream, {.x = v_flat, .out = v_flat, .scale = config.value_scale}));
  }

  Tensor q = q_flat.split_last(config.head_dim);
  Tensor k = k_flat.split_last(config.head_dim);
  const Tensor v = v_flat.split_last(config.value_width());
  TRY(rotary.forward(context, q));
  TRY(rotary.forward(context, k));
  if (config.qk_norm && config.qk_norm->after_rope) {
    TRY(normalize(context, q_flat, k_flat));
  }
  TRY(temperature.forward(context, q));

  // Here a token becomes an entry of the cache.
  const LayerCache& cache = context.cache(config.layer);
  const CacheTables& where = context.tables(cache);
  TRY(ops::kv_write(
      context.stream,
      {.k = k, .v = v, .slots = where.slots, .k_cache = cache.k, .v_cache = cache.v}));

  Tensor found = TRY(context.stream.workspace().tensor(
      DType::kF32, {tokens, config.num_heads * config.value_width()}));
  TRY(ops::attention(context.stream, {.q = q,
                                      .k_cache = cache.k,
                                      .v_cache = cache.v,
                                      .block_tables = where.block_tables,
                                      .query_start = context.attention.query_start,
                                      .context_lens = context.attention.context_lens,
                                      .alibi_slopes = alibi_slopes,
                                      .sinks = sinks,
                                      .out = found.split_last(config.value_width()),
                                      .scale = config.scale.value_or(
                                          1.0F / std::sqrt(static_cast<float>(config.head_dim))),
                                      .softcap = config.softcap,
                                      .window = config.window,
                                      .chunk = config.chunk}));
  return found;
}

Status Attention::forward(const Context& context, const Rotary& rotary, const Tensor& x,
                          Tensor& out) const {
  Workspace::Scope scope(context.stream.workspace());
  return o_proj.forward(context, TRY(attend(context, rotary, x)), out);
}

Status Attention::forward_add(const Context& context, const Rotary& rotary, const Tensor& x,
                              Tensor& out) const {
  Workspace::Scope scope(context.stream.workspace());
  return o_proj.forward_add(context, TRY(attend(context, rotary, x)), out);
}

}  // namespace godwit
