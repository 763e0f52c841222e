#include "layers/mamba2.h"

#include "layers/state_weights.h"
#include "ops/dense.h"
#include "ops/recurrent.h"
#include "ops/scan.h"

namespace godwit {

Result<Mamba2> Mamba2::load(WeightsReader& reader, const std::string& prefix,
                            const Mamba2Config& config) {
  const std::int64_t heads = config.heads;
  const std::int64_t inner = config.width() + config.channels() + heads;
  const auto numbers = [&](const char* name) {
    return keep_finite(reader, prefix + name, {heads});
  };
  Mamba2 mamba;
  mamba.config = config;
  mamba.in_proj =
      TRY(Linear::load(reader, prefix + ".in_proj", config.hidden_size, inner, config.proj_bias));
  mamba.conv = TRY(read_conv(reader, prefix + ".conv1d", config.channels(), config.taps));
  if (config.conv_bias) {
    mamba.conv_bias =
        TRY(reader.read(prefix + ".conv1d.bias", {config.channels()}, WeightKind::kVector));
  }
  mamba.step_bias = TRY(numbers(".dt_bias"));
  mamba.skip = TRY(numbers(".D"));
  mamba.rate = TRY(keep_rates(reader, prefix + ".A_log", {heads}));
  if (config.gate != OutputGate::kAlone) {
    mamba.norm =
        TRY(RmsNorm::load(reader, prefix + ".norm", config.width(), {.epsilon = config.epsilon}));
  }
  mamba.out_proj = TRY(Linear::load(reader, prefix + ".out_proj", config.width(),
                                    config.hidden_size, config.proj_bias));
  return mamba;
}

Status Mamba2::normalize(const Context& context, Tensor& y) const {
  if (!config.norm_each_group) {
    return norm->forward(context, y, y);
  }
  const std::int64_t width = config.width() / config.groups;
  for (std::int64_t g = 0; g < config.groups; ++g) {
    RmsNorm part = *norm;
    part.weight = norm->weight.slice(0, g * width, width);
    Tensor rows = y.slice(1, g * width, width);
    TRY(part.forward(context, rows, rows));
  }
  return {};
}

Status Mamba2::apply_gate(const Context& context, const Tensor& gate, Tensor& y) const {
  if (config.gate == OutputGate::kAfterNorm) {
    TRY(normalize(context, y));
  }
  TRY(ops::gated_activation(context.stream, {.gate = gate, .up = y, .out = y, .form = {}}));
  return config.gate == OutputGate::kBeforeNorm ? normalize(context, y) : Status();
}

Result<Tensor> Mamba2::mix(const Context& context, const Tensor& x) const {
  Stream& stream = context.stream;
  Workspace& workspace = stream.workspace();
  const std::int64_t tokens = x.dim(0);
  const std::int64_t width = config.width();
  const std::int64_t channels = config.channels();
  const LayerCache& cache = context.cache(config.layer);
  const StateTables& tables = context.tables(cache).states;
  Tensor projected = TRY(workspace.tensor(DType::kF32, {tokens, width + channels + config.heads}));
  TRY(in_proj.forward(context, x, projected));
  if (config.multipliers) {
    const std::array<std::int64_t, 5> widths = {width, width, config.key_width(),
                                                config.key_width(), config.heads};
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const Tensor part = projected.slice(1, begin, widths[i]);
      TRY(ops::scale(stream, {.x = part, .out = part, .scale = (*config.multipliers)[i]}));
      begin += widths[i];
    }
  }
  const Tensor mixed = TRY(workspace.tensor(DType::kF32, {tokens, channels}));
  TRY(ops::causal_conv(stream, {.x = projected.slice(1, width, channels),
                                .weight = conv,
                                .bias = conv_bias,
                                .query_start = context.attention.query_start,
                                .states = cache.conv,
                                .tables = tables,
                                .out = mixed}));
  TRY(ops::activation(stream, {.x = mixed, .out = mixed, .activation = Activation::kSilu}));
  const Tensor step = projected.slice(1, width + channels, config.heads);
  const Tensor decay = TRY(workspace.tensor(DType::kF32, {tokens, config.heads}));
  TRY(ops::step_size(stream, {.x = step,
                              .bias = step_bias,
                              .rate = rate,
                              .step = step,
                              .decay = decay,
                              .lowest = config.lowest_step,
                              .highest = config.highest_step}));
  Tensor y = TRY(workspace.tensor(DType::kF32, {tokens, width}));
  const auto keys = [&](std::int64_t begin) {
    return mixed.slice(1, begin, config.key_width()).split_last(config.state_size);
  };
  TRY(ops::linear_recurrence(stream, {.q = keys(width + config.key_width()),
                                      .k = keys(width),
                                      .v = mixed.slice(1, 0, width).split_last(config.head_dim),
                                      .decay = decay,
                                      .gain = step,
                                      .skip = skip,
                                      .query_start = context.attention.query_start,
                                      .states = cache.state,
                                      .tables = tables,
                                      .out = y.split_last(config.head_dim)}));
  TRY(apply_gate(context, projected.slice(1, 0, width), y));
  return y;
}

LayerCacheSpec cache_spec_of(const Mamba2Config& config) {
  return {.layer = config.layer,
          .retention = Retention::state(),
          .state = {.conv_channels = config.channels(),
                    .conv_inputs = config.taps - 1,
                    .heads = config.heads,
                    .rows = config.state_size,
                    .columns = config.head_dim}};
}

}  // namespace godwit
