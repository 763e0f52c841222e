#include "layers/mamba1.h"

#include "layers/state_weights.h"
#include "ops/dense.h"
#include "ops/recurrent.h"
#include "ops/scan.h"

namespace godwit {

Result<Mamba1> Mamba1::load(WeightsReader& reader, const std::string& prefix,
                            const Mamba1Config& config) {
  const std::int64_t channels = config.channels;
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t size = config.state_size;
  Mamba1 mamba;
  mamba.config = config;
  mamba.in_proj =
      TRY(Linear::load(reader, prefix + ".in_proj", hidden, 2 * channels, config.proj_bias));
  mamba.conv = TRY(read_conv(reader, prefix + ".conv1d", channels, config.taps));
  if (config.conv_bias) {
    mamba.conv_bias = TRY(reader.read(prefix + ".conv1d.bias", {channels}, WeightKind::kVector));
  }
  mamba.x_proj =
      TRY(Linear::load(reader, prefix + ".x_proj", channels, config.step_rank + 2 * size, false));
  if (config.inner_epsilon) {
    const RmsNormConfig norm = {.epsilon = *config.inner_epsilon};
    mamba.step_norm = TRY(RmsNorm::load(reader, prefix + ".dt_layernorm", config.step_rank, norm));
    mamba.b_norm = TRY(RmsNorm::load(reader, prefix + ".b_layernorm", size, norm));
    mamba.c_norm = TRY(RmsNorm::load(reader, prefix + ".c_layernorm", size, norm));
  }
  // The bias of dt_proj is added with the step's function.
  mamba.step_proj =
      TRY(Linear::load(reader, prefix + ".dt_proj", config.step_rank, channels, false));
  mamba.step_bias = TRY(keep_finite(reader, prefix + ".dt_proj.bias", {channels}));
  mamba.rate = TRY(keep_rates(reader, prefix + ".A_log", {channels, size}));
  mamba.skip = TRY(keep_finite(reader, prefix + ".D", {channels}));
  mamba.out_proj =
      TRY(Linear::load(reader, prefix + ".out_proj", channels, hidden, config.proj_bias));
  return mamba;
}

Status Mamba1::scan(const Context& context, const Tensor& x, const Tensor& gate,
                    Tensor& out) const {
  Stream& stream = context.stream;
  const LayerCache& cache = context.cache(config.layer);
  Tensor chosen = TRY(
      stream.workspace().tensor(DType::kF32, {x.dim(0), config.step_rank + 2 * config.state_size}));
  TRY(x_proj.forward(context, x, chosen));
  Tensor low = chosen.slice(1, 0, config.step_rank);
  Tensor b = chosen.slice(1, config.step_rank, config.state_size);
  Tensor c = chosen.slice(1, config.step_rank + config.state_size, config.state_size);
  if (step_norm) {
    TRY(step_norm->forward(context, low, low));
    TRY(b_norm->forward(context, b, b));
    TRY(c_norm->forward(context, c, c));
  }
  Tensor step = TRY(stream.workspace().tensor(DType::kF32, {x.dim(0), config.channels}));
  TRY(step_proj.forward(context, low, step));
  TRY(ops::step_size(stream, {.x = step, .bias = step_bias, .step = step}));
  TRY(ops::selective_scan(stream, {.x = x,
                                   .step = step,
                                   .rate = rate,
                                   .b = b,
                                   .c = c,
                                   .skip = skip,
                                   .query_start = context.attention.query_start,
                                   .states = cache.state,
                                   .tables = context.tables(cache).states,
                                   .out = out}));
  return ops::gated_activation(stream, {.gate = gate, .up = out, .out = out, .form = {}});
}

Result<Tensor> Mamba1::mix(const Context& context, const Tensor& x) const {
  Stream& stream = context.stream;
  Workspace& workspace = stream.workspace();
  const LayerCache& cache = context.cache(config.layer);
  Tensor projected = TRY(workspace.tensor(DType::kF32, {x.dim(0), 2 * config.channels}));
  TRY(in_proj.forward(context, x, projected));
  Tensor mixed = TRY(workspace.tensor(DType::kF32, {x.dim(0), config.channels}));
  TRY(ops::causal_conv(stream, {.x = projected.slice(1, 0, config.channels),
                                .weight = conv,
                                .bias = conv_bias,
                                .query_start = context.attention.query_start,
                                .states = cache.conv,
                                .tables = context.tables(cache).states,
                                .out = mixed}));
  TRY(ops::activation(stream, {.x = mixed, .out = mixed, .activation = Activation::kSilu}));
  Tensor found = TRY(workspace.tensor(DType::kF32, {x.dim(0), config.channels}));
  TRY(scan(context, mixed, projected.slice(1, config.channels, config.channels), found));
  return found;
}

LayerCacheSpec cache_spec_of(const Mamba1Config& config) {
  return {.layer = config.layer,
          .retention = Retention::state(),
          .state = {.conv_channels = config.channels,
                    .conv_inputs = config.taps - 1,
                    .heads = config.channels,
                    .rows = 1,
                    .columns = config.state_size}};
}

}  // namespace godwit
