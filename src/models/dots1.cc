// dots.llm1: DeepSeek-V3's experts on ordinary attention with a norm on each head of q and k.

#include "models/moe_fields.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_dots1(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  TRY(read_attention_bias(reader, config));
  config.qk_norm = QkNormConfig{.norm = std::get<RmsNormConfig>(config.norm)};
  if (reader.find("sliding_window") != nullptr) {
    set_windows(config, TRY(read_windows(reader, config.num_layers, true)));
  }
  TRY(read_grouped_experts(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
