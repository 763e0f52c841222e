#include "layers/indexer.h"

#include <cmath>

#include "ops/attention.h"
#include "ops/dense.h"
#include "ops/mla.h"

namespace godwit {

Result<Indexer> Indexer::load(WeightsReader& reader, const std::string& prefix,
                              std::int64_t hidden_size, std::int64_t q_lora_rank,
                              const IndexerConfig& config) {
  // The published code's, which no config names.
  constexpr float kEpsilon = 1e-6F;
  const std::int64_t heads = config.num_heads;
  const std::int64_t dim = config.head_dim;
  Indexer indexer;
  indexer.config = config;
  indexer.q_proj = TRY(Linear::load(reader, prefix + ".wq_b", q_lora_rank, heads * dim, false));
  indexer.k_proj = TRY(Linear::load(reader, prefix + ".wk", hidden_size, dim, false));
  indexer.k_norm =
      TRY(LayerNorm::load(reader, prefix + ".k_norm", {.width = dim, .epsilon = kEpsilon}));
  indexer.weights_proj =
      TRY(Linear::load(reader, prefix + ".weights_proj", hidden_size, heads, false));
  return indexer;
}

Status Indexer::forward(const Context& context, const LayerCache& cache, const Rotary& rotary,
                        const Tensor& x, const Tensor& q_latent, const Tensor& chosen) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  const Rotary own_rotary = {.cos_sin = rotary.cos_sin, .interleaved = config.interleaved_rope};
  const CacheTables& where = context.tables(cache);
  const std::int64_t tokens = x.dim(0);
  const std::int64_t heads = config.num_heads;
  Tensor k_flat = TRY(workspace.tensor(DType::kF32, {tokens, config.head_dim}));
  TRY(k_proj.forward(context, x, k_flat));
  TRY(k_norm.forward(context, k_flat, k_flat));
  Tensor k = k_flat.split_last(config.head_dim);
  TRY(own_rotary.forward(context, k));
  TRY(ops::kv_write(
      context.stream,
      {.k = k, .v = Tensor(), .slots = where.slots, .k_cache = cache.index, .v_cache = Tensor()}));

  Tensor q_flat = TRY(workspace.tensor(DType::kF32, {tokens, heads * config.head_dim}));
  TRY(q_proj.forward(context, q_latent, q_flat));
  Tensor q = q_flat.split_last(config.head_dim);
  TRY(own_rotary.forward(context, q));
  Tensor weights = TRY(workspace.tensor(DType::kF32, {tokens, heads}));
  TRY(weights_proj.forward(context, x, weights));
  const float scale = 1.0F / std::sqrt(static_cast<float>(heads * config.head_dim));
  TRY(ops::scale(context.stream, {.x = weights, .out = weights, .scale = scale}));
  return ops::choose_positions(context.stream, {.q = q,
                                                .weights = weights,
                                                .index_cache = cache.index,
                                                .block_tables = where.block_tables,
                                                .query_start = context.attention.query_start,
                                                .context_lens = context.attention.context_lens,
                                                .chosen = chosen});
}

}  // namespace godwit
