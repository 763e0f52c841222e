// Phi-3.5-MoE: sixteen experts in every layer, chosen one after the other by SparseMixer; layer
// norms, biases, two lists of rope factors.

#include "models/moe_fields.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_phimoe(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader, {.layer_norm = true}));
  std::get<LayerNormConfig>(config.norm).has_bias = true;
  TRY(read_attention_bias(reader, config));
  config.lm_head_bias = TRY(reader.boolean("lm_head_bias", false));
  const auto window = TRY(reader.optional_integer("sliding_window"));
  set_windows(config, std::vector<std::int64_t>(config.layers.size(), window.value_or(0)));
  config.moe = TRY(read_moe_config(reader, config, {.width = "intermediate_size"}));
  config.moe->router.rule = {
      .score = RouterScore::kSparseMixer,
      .tolerance = 2.0F * static_cast<float>(TRY(reader.positive("router_jitter_noise")))};
  use_mixtral_names(*config.moe);
  TRY(read_sparse_layers(reader, {}, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
