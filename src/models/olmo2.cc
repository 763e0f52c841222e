// OLMo 2 and 3: norms after the blocks alone, and one on all of q and of k. OLMo 3 adds windows in
// three layers of four; only the layers that see everything scale their rope.

#include "models/decoder.h"

namespace godwit {

namespace {

Result<DecoderConfig> read_olmo(const ConfigReader& reader) {
  DecoderConfig config = TRY(read_decoder_config(reader, {.one_rope = false}));
  const bool attention_bias = TRY(reader.boolean("attention_bias", false));
  config.qkv_bias = attention_bias;
  config.o_bias = attention_bias;
  config.block_norms = {.before_attention = nullptr,
                        .after_attention = "post_attention_layernorm",
                        .before_mlp = nullptr,
                        .after_mlp = "post_feedforward_layernorm"};
  config.qk_norm = QkNormConfig{.norm = std::get<RmsNormConfig>(config.norm), .whole_row = true};
  config.ropes = {
      TRY(read_rope_config(reader, {.head_dim = config.head_dim, .layer_type = "full_attention"}))};
  return config;
}

}  // namespace

Result<std::unique_ptr<Model>> create_olmo2(const Json& json, const std::string& config_name) {
  DecoderConfig config = TRY(read_olmo(ConfigReader(json, config_name)));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

Result<std::unique_ptr<Model>> create_olmo3(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_olmo(reader));
  set_windows(config, TRY(read_alternating_windows(reader, config.num_layers, 4)));
  RopeConfig plain = TRY(
      read_rope_config(reader, {.head_dim = config.head_dim, .layer_type = "sliding_attention"}));
  plain.scaling = DefaultRope{};
  config.ropes.push_back(std::move(plain));
  for (DecoderLayerConfig& layer : config.layers) {
    layer.rope = layer.window > 0 ? 1 : 0;
  }
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
