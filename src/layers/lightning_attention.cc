#include "layers/lightning_attention.h"

#include <cmath>
#include <vector>

#include "layers/state_weights.h"
#include "ops/dense.h"
#include "ops/scan.h"

namespace godwit {
namespace {

/// exp(-slope), the slopes being those of ALiBi times what falls from 1 to almost 0 over the
/// layers.
std::vector<float> decays_of(const LightningConfig& config) {
  const auto last = static_cast<double>(config.num_layers - 1);
  const double factor = 1.0 - static_cast<double>(config.layer) / (last + 1e-5) + 1e-5;
  std::vector<float> decays;
  for (std::int64_t h = 1; h <= config.heads; ++h) {
    const double slope =
        std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(config.heads));
    decays.push_back(static_cast<float>(std::exp(-slope * factor)));
  }
  return decays;
}

}  // namespace

Result<LightningAttention> LightningAttention::load(WeightsReader& reader,
                                                    const std::string& prefix,
                                                    const LightningConfig& config) {
  constexpr float kEpsilon = 1e-6F;  // Whatever the config says, as in Hugging Face's code.
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t width = config.width();
  LightningAttention layer;
  layer.config = config;
  layer.qkv_proj = TRY(Linear::load(reader, prefix + ".qkv_proj", hidden, 3 * width, false));
  layer.decay = TRY(keep(reader, decays_of(config), {config.heads}));
  layer.gate_proj = TRY(Linear::load(reader, prefix + ".output_gate", hidden, width, false));
  layer.norm = TRY(RmsNorm::load(reader, prefix + ".norm", width, {.epsilon = kEpsilon}));
  layer.out_proj = TRY(Linear::load(reader, prefix + ".out_proj", width, hidden, false));
  for (const char* table : {".slope_rate", ".query_decay", ".key_decay", ".diagonal_decay"}) {
    reader.skip_part(prefix + table, "a table of decays");
  }
  return layer;
}

Result<Tensor> LightningAttention::mix(const Context& context, const Tensor& x) const {
  Stream& stream = context.stream;
  Workspace& workspace = stream.workspace();
  const std::int64_t tokens = x.dim(0);
  const LayerCache& cache = context.cache(config.layer);
  Tensor projected = TRY(workspace.tensor(DType::kF32, {tokens, 3 * config.width()}));
  TRY(qkv_proj.forward(context, x, projected));
  TRY(ops::activation(stream, {.x = projected, .out = projected, .activation = config.activation}));
  const Tensor heads = projected.split_last(3 * config.head_dim);
  Tensor decays = decay.reshape({1, config.heads});  // The same for every token.
  decays.shape[0] = tokens;
  decays.strides[0] = 0;
  Tensor found = TRY(workspace.tensor(DType::kF32, {tokens, config.width()}));
  TRY(ops::linear_recurrence(stream, {.q = heads.slice(2, 0, config.head_dim),
                                      .k = heads.slice(2, config.head_dim, config.head_dim),
                                      .v = heads.slice(2, 2 * config.head_dim, config.head_dim),
                                      .decay = decays,
                                      .query_start = context.attention.query_start,
                                      .states = cache.state,
                                      .tables = context.tables(cache).states,
                                      .out = found.split_last(config.head_dim)}));
  TRY(norm.forward(context, found, found));
  Tensor gate = TRY(workspace.tensor(DType::kF32, {tokens, config.width()}));
  TRY(gate_proj.forward(context, x, gate));
  TRY(ops::gated_activation(
      stream,
      {.gate = gate, .up = found, .out = gate, .form = {.activation = Activation::kSigmoid}}));
  return gate;
}

LayerCacheSpec cache_spec_of(const LightningConfig& config) {
  return {.layer = config.layer,
          .retention = Retention::state(),
          .state = {.heads = config.heads, .rows = config.head_dim, .columns = config.head_dim}};
}

}  // namespace godwit
