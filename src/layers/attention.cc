#include "layers/attention.h"

#include <cmath>

#include "ops/attention.h"
#include "ops/dense.h"

namespace godwit {
namespace {

/// Heads that lie side by side as one row a token.
Tensor rows_of(const Tensor& heads) {
  Tensor rows = heads.slice(2, 0, heads.dim(2));
  rows.rank = 2;
  rows.shape[1] = heads.dim(1) * heads.dim(2);
  rows.strides[1] = 1;
  return rows;
}

}  // namespace

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
    attention.q_proj = TRY(Linear::load(reader, prefix + ".q_proj", hidden,
                                        config.output_gate ? 2 * q_width : q_width, bias));
    attention.k_proj = TRY(Linear::load(reader, prefix + ".k_proj", hidden, k_width, bias));
    attention.v_proj = TRY(Linear::load(reader, prefix + ".v_proj", hidden, v_width, bias));
  }
  attention.o_proj =
      TRY(Linear::load(reader, prefix + "." + config.out, config.num_heads * config.value_width(),
                       config.out_size > 0 ? config.out_size : hidden, config.o_bias));
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
    Tensor q_row = rows_of(q);
    Tensor k_row = rows_of(k);
    TRY(q_norm->forward(context, q_row, q_row));
    return k_norm->forward(context, k_row, k_row);
  }
  TRY(q_norm->forward(context, q, q));
  return k_norm->forward(context, k, k);
}

Status Attention::apply_gate(const Context& context, const Tensor& gate, Tensor& found) const {
  // Head by head, since rows of activations are all that gates work on.
  for (std::int64_t h = 0; h < config.num_heads; ++h) {
    Tensor part = found.slice(1, h * config.head_dim, config.head_dim);
    Tensor opens = gate.slice(1, h, 1);
    opens.rank = 2;
    opens.shape[1] = config.head_dim;
    opens.strides[1] = 1;
    TRY(ops::gated_activation(
        context.stream,
        {.gate = opens, .up = part, .out = part, .form = {.activation = Activation::kSigmoid}}));
  }
  return {};
}

Result<Tensor> Attention::attend(const Context& context, const Rotary& rotary,
                                 const Tensor& x) const {
  const std::int64_t tokens = x.dim(0);
  const std::int64_t k_width = config.num_kv_heads * config.head_dim;
  const std::int64_t v_width = config.num_kv_heads * config.value_width();
  // A gate lies behind each head's query.
  const std::int64_t q_each = config.output_gate ? 2 * config.head_dim : config.head_dim;
  const std::int64_t q_all = config.num_heads * q_each;
  Workspace& workspace = context.stream.workspace();
  const Tensor qkv = TRY(workspace.tensor(DType::kF32, {tokens, q_all + k_width + v_width}));
  Tensor q_flat = qkv.slice(1, 0, q_all);
  Tensor k_flat = qkv.slice(1, q_all, k_width);
  Tensor v_flat = qkv.slice(1, q_all + k_width, v_width);
  TRY(q_proj.forward(context, x, q_flat));
  TRY(k_proj.forward(context, x, k_flat));
  TRY(v_proj.forward(context, x, v_flat));
  if (q_adapter) {
    TRY(q_adapter->add(context, x, q_flat));
    TRY(k_adapter->add(context, x, k_flat));
    TRY(v_adapter->add(context, x, v_flat));
  }
  const Tensor q_heads = q_flat.split_last(q_each);
  Tensor q = q_heads.slice(2, 0, config.head_dim);
  Tensor k = k_flat.split_last(config.head_dim);
  const Tensor v = v_flat.split_last(config.value_width());
  if (!config.qk_norm || !config.qk_norm->after_rope) {
    TRY(normalize(context, q, k));
  }
  if (config.qkv_limit > 0.0F) {
    TRY(ops::clamp(context.stream, {.x = qkv, .out = qkv, .limit = config.qkv_limit}));
  }
  if (config.value_scale != 1.0F) {
    TRY(ops::scale(context.stream, {.x = v_flat, .out = v_flat, .scale = config.value_scale}));
  }
  TRY(rotary.forward(context, q));
  TRY(rotary.forward(context, k));
  if (config.qk_norm && config.qk_norm->after_rope) {
    TRY(normalize(context, q, k));
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
  if (config.output_gate) {
    TRY(apply_gate(context, q_heads.slice(2, config.head_dim, config.head_dim), found));
  }
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
