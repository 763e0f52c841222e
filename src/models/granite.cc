// Granite 3, dense: Llama with a factor at each of four places.

#include "models/decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_granite(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  const bool attention_bias = TRY(reader.boolean("attention_bias", false));
  config.qkv_bias = attention_bias;
  config.o_bias = attention_bias;
  config.mlp_bias = TRY(reader.boolean("mlp_bias", false));
  config.embedding_scale = static_cast<float>(TRY(reader.positive("embedding_multiplier")));
  config.residual_scale = static_cast<float>(TRY(reader.positive("residual_multiplier")));
  config.attention_scale = static_cast<float>(TRY(reader.positive("attention_multiplier")));
  config.logits_scale = static_cast<float>(1.0 / TRY(reader.positive("logits_scaling")));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
