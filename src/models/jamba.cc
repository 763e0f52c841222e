// Jamba: Mamba with norms inside, attention without positions every few layers, experts in some.

#include "models/moe_fields.h"
#include "models/recurrent_fields.h"

namespace godwit {
namespace {

/// Every n-th feed-forward block is a mixture of experts, unless there is but one expert.
Status read_experts(const ConfigReader& reader, DecoderConfig& config) {
  if (TRY(reader.integer("num_experts")) == 1) {
    return {};
  }
  config.moe = TRY(read_moe_config(reader, config, {.width = "intermediate_size"}));
  config.moe->router.rule.score = RouterScore::kSoftmax;
  config.moe->router.gate = "feed_forward.router";
  config.moe->experts.gate = "feed_forward.experts.#.gate_proj.weight";
  config.moe->experts.up = "feed_forward.experts.#.up_proj.weight";
  config.moe->experts.down = "feed_forward.experts.#.down_proj.weight";
  const std::int64_t period = TRY(reader.integer("expert_layer_period"));
  const std::int64_t offset = TRY(reader.integer("expert_layer_offset", 0, period - 1));
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].sparse = static_cast<std::int64_t>(i) % period == offset;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Model>> create_jamba(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader, {.one_rope = false}));
  set_ropes(config, {});
  const std::int64_t expand = TRY(reader.integer("mamba_expand", 1, 256));
  config.recurrent =
      Mamba1Config{.hidden_size = config.hidden_size,
                   .channels = expand * config.hidden_size,
                   .state_size = TRY(reader.integer("mamba_d_state", 1, 65536)),
                   .step_rank = TRY(read_step_rank(reader, "mamba_dt_rank", config.hidden_size)),
                   .taps = TRY(read_taps(reader, "mamba_d_conv")),
                   .proj_bias = TRY(reader.boolean("mamba_proj_bias", false)),
                   .conv_bias = TRY(reader.boolean("mamba_conv_bias", true)),
                   .inner_epsilon = epsilon_of(config)};
  TRY(read_recurrent_layers(reader, config));
  TRY(read_experts(reader, config));
  config.block_norms.before_mlp = "pre_ff_layernorm";
  config.mlp_name = "feed_forward";
  config.final_norm = "model.final_layernorm";
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
