#include "layers/short_conv.h"

#include "ops/recurrent.h"

namespace godwit {

Result<ShortConv> ShortConv::load(WeightsReader& reader, const std::string& prefix,
                                  const ShortConvConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  ShortConv layer;
  layer.config = config;
  layer.in_proj =
      TRY(Linear::load(reader, prefix + ".in_proj", hidden, 3 * hidden, config.has_bias));
  const Tensor stored =
      TRY(reader.read(prefix + ".conv.weight", {hidden, 1, config.taps}, WeightKind::kVector));
  layer.weight = stored.reshape({hidden, config.taps});
  if (config.has_bias) {
    layer.bias = TRY(reader.read(prefix + ".conv.bias", {hidden}, WeightKind::kVector));
  }
  layer.out_proj = TRY(Linear::load(reader, prefix + ".out_proj", hidden, hidden, config.has_bias));
  return layer;
}

Status ShortConv::forward_add(const Context& context, const Tensor& x, Tensor& out) const {
  Workspace& workspace = context.stream.workspace();
  Workspace::Scope scope(workspace);
  const std::int64_t hidden = config.hidden_size;
  Tensor inner = TRY(workspace.tensor(DType::kF32, {x.dim(0), 3 * hidden}));
  TRY(in_proj.forward(context, x, inner));
  Tensor mixed = TRY(workspace.tensor(DType::kF32, {x.dim(0), hidden}));
  const LayerCache& cache = context.cache(config.layer);
  TRY(ops::causal_conv(context.stream, {.x = inner.slice(1, 2 * hidden, hidden),
                                        .gate_in = inner.slice(1, 0, hidden),
                                        .gate_out = inner.slice(1, hidden, hidden),
                                        .weight = weight,
                                        .bias = bias,
                                        .query_start = context.attention.query_start,
                                        .states = cache.conv,
                                        .tables = context.tables(cache).states,
                                        .out = mixed}));
  return out_proj.forward_add(context, mixed, out);
}

LayerCacheSpec cache_spec_of(const ShortConvConfig& config) {
  return {.layer = config.layer,
          .retention = Retention::state(),
          .state = {.conv_channels = config.hidden_size, .conv_inputs = config.taps - 1}};
}

}  // namespace godwit
