#include "layers/mla.h"

#include <algorithm>

#include "ops/attention.h"
#include "ops/dense.h"
#include "ops/mla.h"

namespace godwit {
namespace {

std::int64_t heads_together(const MlaConfig& config, std::int64_t tokens) {
  const std::int64_t one_head =
      tokens * (config.query_dim() + config.latent_dim() + config.kv_lora_rank);
  return std::clamp<std::int64_t>(config.group_elements / std::max<std::int64_t>(1, one_head), 1,
                                  config.num_heads);
}

}  // namespace

Result<Mla> Mla::load(WeightsReader& reader, const std::string& prefix, const MlaConfig& config) {
  const RmsNormConfig norm = {.epsilon = config.norm_epsilon};
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t heads = config.num_heads;
  const std::int64_t rank = config.kv_lora_rank;
  Mla mla;
  mla.config = config;
  if (config.q_lora_rank > 0) {
    mla.q_a_proj = TRY(
        Linear::load(reader, prefix + ".q_a_proj", hidden, config.q_lora_rank, config.has_bias));
    mla.q_a_norm = TRY(RmsNorm::load(reader, prefix + ".q_a_layernorm", config.q_lora_rank, norm));
    mla.q_proj = TRY(Linear::load(reader, prefix + ".q_b_proj", config.q_lora_rank,
                                  heads * config.query_dim(), false));
  } else {
    mla.q_proj =
        TRY(Linear::load(reader, prefix + ".q_proj", hidden, heads * config.query_dim(), false));
  }
  mla.kv_a_proj = TRY(Linear::load(reader, prefix + ".kv_a_proj_with_mqa", hidden,
                                   config.latent_dim(), config.has_bias));
  mla.kv_a_norm = TRY(RmsNorm::load(reader, prefix + ".kv_a_layernorm", rank, norm));
  const std::int64_t rows = config.qk_nope_head_dim + config.v_head_dim;
  const Tensor kv_b = TRY(reader.read(prefix + ".kv_b_proj.weight", {heads * rows, rank}))
                          .reshape({heads, rows, rank});
  mla.key_weights = kv_b.slice(1, 0, config.qk_nope_head_dim);
  mla.value_weights = kv_b.slice(1, config.qk_nope_head_dim, config.v_head_dim);
  mla.o_proj = TRY(
      Linear::load(reader, prefix + ".o_proj", heads * config.v_head_dim, hidden, config.has_bias));
  if (config.indexer) {
    mla.indexer = TRY(
        Indexer::load(reader, prefix + ".indexer", hidden, config.q_lora_rank, *config.indexer));
  }
  return mla;
}

Status Mla::write_latents(const Context& context, const Rotary& rotary, const Tensor& x) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  Tensor all = TRY(workspace.tensor(DType::kF32, {x.dim(0), config.latent_dim()}));
  TRY(kv_a_proj.forward(context, x, all));
  Tensor latent = all.slice(1, 0, config.kv_lora_rank);
  TRY(kv_a_norm.forward(context, latent, latent));
  if (config.latent_scale != 1.0F) {
    TRY(ops::scale(context.stream, {.x = latent, .out = latent, .scale = config.latent_scale}));
  }
  Tensor rotated = all.slice(1, config.kv_lora_rank, config.qk_rope_head_dim)
                       .split_last(config.qk_rope_head_dim);
  TRY(rotary.forward(context, rotated));
  const LayerCache& cache = context.cache(config.layer);
  return ops::kv_write(context.stream, {.k = all.split_last(config.latent_dim()),
                                        .v = Tensor(),
                                        .slots = context.tables(cache).slots,
                                        .k_cache = cache.k,
                                        .v_cache = Tensor()});
}

Status Mla::attend_heads(const Context& context, const Rotary& rotary, const Tensor& source,
                         const Tensor& chosen, std::int64_t first, const Tensor& found) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  const std::int64_t tokens = source.dim(0);
  const std::int64_t heads = found.dim(1);
  const std::int64_t nope = config.qk_nope_head_dim;
  const std::int64_t rope = config.qk_rope_head_dim;
  const std::int64_t rank = config.kv_lora_rank;
  Tensor q = TRY(workspace.tensor(DType::kF32, {tokens, heads * config.query_dim()}));
  TRY(q_proj.rows(first * config.query_dim(), heads * config.query_dim())
          .forward(context, source, q));

  const Tensor absorbed = TRY(workspace.tensor(DType::kF32, {tokens, heads, config.latent_dim()}));
  TRY(ops::head_gemm(context.stream, {.x = q.split_last(config.query_dim()).slice(2, 0, nope),
                                      .weight = key_weights.slice(0, first, heads),
                                      .out = absorbed.slice(2, 0, rank),
                                      .transposed = true}));
  const Tensor rows = q.reshape({tokens * heads, config.query_dim()});
  const Tensor absorbed_rows = absorbed.reshape({tokens * heads, config.latent_dim()});
  TRY(ops::scale(context.stream,
                 {.x = rows.slice(1, nope, rope), .out = absorbed_rows.slice(1, rank, rope)}));
  Tensor rotated = absorbed.slice(2, rank, rope);
  TRY(rotary.forward(context, rotated));

  const LayerCache& cache = context.cache(config.layer);
  const Tensor latents = TRY(workspace.tensor(DType::kF32, {tokens, heads, rank}));
  TRY(ops::attention(context.stream, {.q = absorbed,
                                      .k_cache = cache.k,
                                      .v_cache = cache.k.slice(3, 0, rank),
                                      .block_tables = context.tables(cache).block_tables,
                                      .query_start = context.attention.query_start,
                                      .context_lens = context.attention.context_lens,
                                      .alibi_slopes = Tensor(),
                                      .chosen = chosen,
                                      .out = latents,
                                      .scale = config.scale}));
  return ops::head_gemm(
      context.stream, {.x = latents, .weight = value_weights.slice(0, first, heads), .out = found});
}

Result<Tensor> Mla::attend(const Context& context, const Rotary& rotary, const Tensor& x,
                           const Tensor& chosen) const {
  Workspace& workspace = context.stream.workspace();
  const std::int64_t tokens = x.dim(0);
  Tensor found = TRY(workspace.tensor(DType::kF32, {tokens, config.num_heads * config.v_head_dim}));
  const Workspace::Scope scope(workspace);
  Tensor source = x;
  if (q_a_proj) {
    source = TRY(workspace.tensor(DType::kF32, {tokens, config.q_lora_rank}));
    TRY(q_a_proj->forward(context, x, source));
    TRY(q_a_norm->forward(context, source, source));
  }
  TRY(write_latents(context, rotary, x));
  if (indexer) {
    TRY(indexer->forward(context, context.cache(config.layer), rotary, x, source, chosen));
  }
  const Tensor found_heads = found.split_last(config.v_head_dim);
  const std::int64_t together = heads_together(config, tokens);
  for (std::int64_t first = 0; first < config.num_heads; first += together) {
    const std::int64_t heads = std::min(together, config.num_heads - first);
    TRY(attend_heads(context, rotary, source, chosen, first, found_heads.slice(1, first, heads)));
  }
  return found;
}

Status Mla::forward(const Context& context, const Rotary& rotary, const Tensor& x,
                    const Tensor& chosen, Tensor& out) const {
  const Workspace::Scope scope(context.stream.workspace());
  return o_proj.forward(context, TRY(attend(context, rotary, x, chosen)), out);
}

Status Mla::forward_add(const Context& context, const Rotary& rotary, const Tensor& x,
                        const Tensor& chosen, Tensor& out) const {
  const Workspace::Scope scope(context.stream.workspace());
  return o_proj.forward_add(context, TRY(attend(context, rotary, x, chosen)), out);
}

}  // namespace godwit
