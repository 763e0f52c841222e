// EXAONE 4: norms after the blocks alone, a norm on each head of q and k; in sizes with windows the
// layers that see everything know no positions.

#include "models/decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_exaone4(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  config.block_norms = {.before_attention = nullptr,
                        .after_attention = "post_attention_layernorm",
                        .before_mlp = nullptr,
                        .after_mlp = "post_feedforward_layernorm"};
  config.qk_norm = QkNormConfig{.norm = std::get<RmsNormConfig>(config.norm)};
  if (reader.find("sliding_window") != nullptr) {
    set_windows(config, TRY(read_alternating_windows(reader, config.num_layers, 4)));
    for (DecoderLayerConfig& layer : config.layers) {
      layer.rope = layer.window > 0 ? std::optional<std::size_t>(0) : std::nullopt;
    }
  }
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
