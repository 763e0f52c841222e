#include "layers/kimi_delta_attention.h"

#include <cmath>
#include <vector>

#include "layers/gated_delta_net.h"
#include "layers/state_weights.h"
#include "ops/dense.h"
#include "ops/recurrent.h"
#include "ops/scan.h"

namespace godwit {
namespace {

/// The convolutions of queries, keys and values as one: [3 * width, taps].
Result<Tensor> read_convs(WeightsReader& reader, const std::string& prefix,
                          const KimiDeltaConfig& config) {
  std::vector<float> all;
  for (const char* name : {".q_conv1d.weight", ".k_conv1d.weight", ".v_conv1d.weight"}) {
    const std::vector<float> one =
        TRY(read_finite(reader, prefix + name, {config.width(), 1, config.taps}));
    all.insert(all.end(), one.begin(), one.end());
  }
  return keep(reader, all, {3 * config.width(), config.taps});
}

/// A rate for each channel from those of the heads.
Result<Tensor> read_channel_rates(WeightsReader& reader, const std::string& prefix,
                                  const KimiDeltaConfig& config) {
  const std::vector<float> heads =
      TRY(read_rates(reader, prefix + ".A_log", {1, 1, config.heads, 1}));
  std::vector<float> channels;
  for (const float rate : heads) {
    channels.insert(channels.end(), static_cast<std::size_t>(config.head_dim), rate);
  }
  return keep(reader, channels, {config.width()});
}

}  // namespace

Result<KimiDeltaAttention> KimiDeltaAttention::load(WeightsReader& reader,
                                                    const std::string& prefix,
                                                    const KimiDeltaConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t width = config.width();
  const auto linear = [&](const char* name, std::int64_t in, std::int64_t out) {
    return Linear::load(reader, prefix + name, in, out, false);
  };
  KimiDeltaAttention layer;
  layer.config = config;
  layer.q_proj = TRY(linear(".q_proj", hidden, width));
  layer.k_proj = TRY(linear(".k_proj", hidden, width));
  layer.v_proj = TRY(linear(".v_proj", hidden, width));
  layer.conv = TRY(read_convs(reader, prefix, config));
  layer.decay_low_proj = TRY(linear(".f_a_proj", hidden, config.head_dim));
  layer.decay_proj = TRY(linear(".f_b_proj", config.head_dim, width));
  layer.step_bias = TRY(keep_finite(reader, prefix + ".dt_bias", {width}));
  layer.rate = TRY(read_channel_rates(reader, prefix, config));
  layer.b_proj = TRY(linear(".b_proj", hidden, config.heads));
  layer.gate_low_proj = TRY(linear(".g_a_proj", hidden, config.head_dim));
  layer.gate_proj = TRY(linear(".g_b_proj", config.head_dim, width));
  layer.unit_q = TRY(
      unit_norm(reader, config.head_dim, 1.0F / std::sqrt(static_cast<float>(config.head_dim))));
  layer.unit_k = TRY(unit_norm(reader, config.head_dim, 1.0F));
  layer.norm =
      TRY(RmsNorm::load(reader, prefix + ".o_norm", config.head_dim, {.epsilon = config.epsilon}));
  layer.out_proj = TRY(linear(".o_proj", width, hidden));
  return layer;
}

Status KimiDeltaAttention::project(const Context& context, const Tensor& x, Tensor& mixed) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  const std::int64_t width = config.width();
  const LayerCache& cache = context.cache(config.layer);
  const Tensor projected = TRY(workspace.tensor(DType::kF32, {x.dim(0), 3 * width}));
  std::int64_t begin = 0;
  for (const Linear* linear : {&q_proj, &k_proj, &v_proj}) {
    Tensor part = projected.slice(1, begin, width);
    TRY(linear->forward(context, x, part));
    begin += width;
  }
  TRY(ops::causal_conv(context.stream, {.x = projected,
                                        .weight = conv,
                                        .query_start = context.attention.query_start,
                                        .states = cache.conv,
                                        .tables = context.tables(cache).states,
                                        .out = mixed}));
  return ops::activation(context.stream,
                         {.x = mixed, .out = mixed, .activation = Activation::kSilu});
}

Status KimiDeltaAttention::project_twice(const Context& context, const Linear& low,
                                         const Linear& to, const Tensor& x, Tensor& out) const {
  Workspace& workspace = context.stream.workspace();
  const Workspace::Scope scope(workspace);
  Tensor between = TRY(workspace.tensor(DType::kF32, {x.dim(0), config.head_dim}));
  TRY(low.forward(context, x, between));
  return to.forward(context, between, out);
}

Result<Tensor> KimiDeltaAttention::mix(const Context& context, const Tensor& x) const {
  Stream& stream = context.stream;
  Workspace& workspace = stream.workspace();
  const std::int64_t width = config.width();
  const LayerCache& cache = context.cache(config.layer);
  const auto scratch = [&](std::int64_t columns) {
    return workspace.tensor(DType::kF32, {x.dim(0), columns});
  };
  Tensor mixed = TRY(scratch(3 * width));
  TRY(project(context, x, mixed));
  Tensor q = mixed.slice(1, 0, width).split_last(config.head_dim);
  Tensor k = mixed.slice(1, width, width).split_last(config.head_dim);
  TRY(unit_q.forward(context, q, q));
  TRY(unit_k.forward(context, k, k));

  Tensor decay = TRY(scratch(width));
  TRY(project_twice(context, decay_low_proj, decay_proj, x, decay));
  TRY(ops::step_size(stream, {.x = decay, .bias = step_bias, .rate = rate, .decay = decay}));
  Tensor gain = TRY(scratch(config.heads));
  TRY(b_proj.forward(context, x, gain));
  TRY(ops::activation(stream, {.x = gain, .out = gain, .activation = Activation::kSigmoid}));

  const Tensor found_flat = TRY(scratch(width));
  Tensor found = found_flat.split_last(config.head_dim);
  TRY(ops::linear_recurrence(stream,
                             {.q = q,
                              .k = k,
                              .v = mixed.slice(1, 2 * width, width).split_last(config.head_dim),
                              .decay = decay.split_last(config.head_dim),
                              .gain = gain,
                              .query_start = context.attention.query_start,
                              .states = cache.state,
                              .tables = context.tables(cache).states,
                              .out = found,
                              .delta_rule = true}));
  TRY(norm.forward(context, found, found));
  Tensor gate = TRY(scratch(width));
  TRY(project_twice(context, gate_low_proj, gate_proj, x, gate));
  TRY(ops::gated_activation(
      stream,
      {.gate = gate, .up = found_flat, .out = gate, .form = {.activation = Activation::kSigmoid}}));
  return gate;
}

LayerCacheSpec cache_spec_of(const KimiDeltaConfig& config) {
  return {.layer = config.layer,
          .retention = Retention::state(),
          .state = {.conv_channels = 3 * config.width(),
                    .conv_inputs = config.taps - 1,
                    .heads = config.heads,
                    .rows = config.head_dim,
                    .columns = config.head_dim}};
}

}  // namespace godwit
