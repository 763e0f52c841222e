// GLM-4.5 and 4.6: DeepSeek-V3's experts on ordinary attention that rotates a part of each head.

#include "models/moe_fields.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_glm4_moe(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader, {.partial_rotation = true}));
  config.qkv_bias = TRY(reader.boolean("attention_bias", false));
  if (TRY(reader.boolean("use_qk_norm", false))) {
    config.qk_norm = QkNormConfig{.norm = std::get<RmsNormConfig>(config.norm)};
  }
  TRY(read_grouped_experts(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
