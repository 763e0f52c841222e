#include "layers/gated_delta_net.h"

#include <cmath>
#include <vector>

#include "layers/state_weights.h"
#include "ops/dense.h"
#include "ops/recurrent.h"
#include "ops/scan.h"

namespace godwit {

Result<RmsNorm> unit_norm(WeightsReader& reader, std::int64_t width, float length) {
  constexpr float kEpsilon = 1e-6F;  // Of the sum of squares, in all published code.
  RmsNorm norm = TRY(RmsNorm::load(reader, "", width,
                                   {.epsilon = kEpsilon / static_cast<float>(width),
                                    .weight_offset = 0.0F,
                                    .has_weight = false}));
  norm.config.weight_offset = length / std::sqrt(static_cast<float>(width));
  return norm;
}

Status GatedDeltaNet::load_by_key_head(WeightsReader& reader, const std::string& prefix) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t group = config.value_heads / config.key_heads;
  const std::int64_t values = group * config.value_dim;  // Of one key head.
  const std::int64_t each = 2 * config.key_dim + 2 * values;
  std::vector<std::int64_t> order;
  const auto gather = [&](std::int64_t stride, std::int64_t begin, std::int64_t count) {
    for (std::int64_t head = 0; head < config.key_heads; ++head) {
      for (std::int64_t i = 0; i < count; ++i) {
        order.push_back(head * stride + begin + i);
      }
    }
  };
  gather(each, 0, config.key_dim);
  gather(each, config.key_dim, config.key_dim);
  gather(each, 2 * config.key_dim, values);
  gather(each, 2 * config.key_dim + values, values);
  const std::int64_t width = config.channels() + config.value_width();
  Linear all;
  all.weight = TRY(reader.read_rows(prefix + ".in_proj_qkvz.weight", {width, hidden}, order));
  qkv_proj = all.rows(0, config.channels());
  z_proj = all.rows(config.channels(), config.value_width());
  order.clear();
  gather(2 * group, 0, group);
  gather(2 * group, group, group);
  all.weight =
      TRY(reader.read_rows(prefix + ".in_proj_ba.weight", {2 * config.value_heads, hidden}, order));
  b_proj = all.rows(0, config.value_heads);
  a_proj = all.rows(config.value_heads, config.value_heads);
  return {};
}

Result<GatedDeltaNet> GatedDeltaNet::load(WeightsReader& reader, const std::string& prefix,
                                          const GatedDeltaNetConfig& config) {
  const std::int64_t heads = config.value_heads;
  GatedDeltaNet net;
  net.config = config;
  const auto linear = [&](const char* name, std::int64_t width) {
    return Linear::load(reader, prefix + name, config.hidden_size, width, false);
  };
  if (config.rows_by_key_head) {
    TRY(net.load_by_key_head(reader, prefix));
  } else {
    net.qkv_proj = TRY(linear(".in_proj_qkv", config.channels()));
    net.z_proj = TRY(linear(".in_proj_z", config.value_width()));
    net.b_proj = TRY(linear(".in_proj_b", heads));
    net.a_proj = TRY(linear(".in_proj_a", heads));
  }
  net.conv = TRY(read_conv(reader, prefix + ".conv1d", config.channels(), config.taps));
  net.step_bias = TRY(keep_finite(reader, prefix + ".dt_bias", {heads}));
  net.rate = TRY(keep_rates(reader, prefix + ".A_log", {heads}));
  net.unit_q =
      TRY(unit_norm(reader, config.key_dim, 1.0F / std::sqrt(static_cast<float>(config.key_dim))));
  net.unit_k = TRY(unit_norm(reader, config.key_dim, 1.0F));
  net.norm =
      TRY(RmsNorm::load(reader, prefix + ".norm", config.value_dim, {.epsilon = config.epsilon}));
  net.out_proj = TRY(
      Linear::load(reader, prefix + ".out_proj", config.value_width(), config.hidden_size, false));
  return net;
}

Result<Tensor> GatedDeltaNet::mix(const Context& context, const Tensor& x) const {
  Stream& stream = context.stream;
  Workspace& workspace = stream.workspace();
  const std::int64_t tokens = x.dim(0);
  const LayerCache& cache = context.cache(config.layer);
  const StateTables& tables = context.tables(cache).states;
  const auto scratch = [&](std::int64_t width) {
    return workspace.tensor(DType::kF32, {tokens, width});
  };
  Tensor projected = TRY(scratch(config.channels()));
  Tensor mixed = TRY(scratch(config.channels()));
  TRY(qkv_proj.forward(context, x, projected));
  TRY(ops::causal_conv(stream, {.x = projected,
                                .weight = conv,
                                .query_start = context.attention.query_start,
                                .states = cache.conv,
                                .tables = tables,
                                .out = mixed}));
  TRY(ops::activation(stream, {.x = mixed, .out = mixed, .activation = Activation::kSilu}));
  Tensor q = mixed.slice(1, 0, config.key_width()).split_last(config.key_dim);
  Tensor k = mixed.slice(1, config.key_width(), config.key_width()).split_last(config.key_dim);
  Tensor v =
      mixed.slice(1, 2 * config.key_width(), config.value_width()).split_last(config.value_dim);
  TRY(unit_q.forward(context, q, q));
  TRY(unit_k.forward(context, k, k));

  Tensor gain = TRY(scratch(config.value_heads));
  Tensor decay = TRY(scratch(config.value_heads));
  TRY(b_proj.forward(context, x, gain));
  TRY(ops::activation(stream, {.x = gain, .out = gain, .activation = Activation::kSigmoid}));
  TRY(a_proj.forward(context, x, decay));
  TRY(ops::step_size(stream, {.x = decay, .bias = step_bias, .rate = rate, .decay = decay}));

  const Tensor found_flat = TRY(scratch(config.value_width()));
  Tensor found = found_flat.split_last(config.value_dim);
  TRY(ops::linear_recurrence(stream, {.q = q,
                                      .k = k,
                                      .v = v,
                                      .decay = decay,
                                      .gain = gain,
                                      .query_start = context.attention.query_start,
                                      .states = cache.state,
                                      .tables = tables,
                                      .out = found,
                                      .delta_rule = true}));
  TRY(norm.forward(context, found, found));
  Tensor z = TRY(scratch(config.value_width()));
  TRY(z_proj.forward(context, x, z));
  TRY(ops::gated_activation(stream, {.gate = z, .up = found_flat, .out = z, .form = {}}));
  return z;
}

LayerCacheSpec cache_spec_of(const GatedDeltaNetConfig& config) {
  return {.layer = config.layer,
          .retention = Retention::state(),
          .state = {.conv_channels = config.channels(),
                    .conv_inputs = config.taps - 1,
                    .heads = config.value_heads,
                    .rows = config.key_dim,
                    .columns = config.value_dim}};
}

}  // namespace godwit
