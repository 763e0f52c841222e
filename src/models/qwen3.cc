// Qwen3, dense: no biases by default, and a norm on each head of q and k.

#include "models/decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_qwen3(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  const bool attention_bias = TRY(reader.boolean("attention_bias", false));
  config.qkv_bias = attention_bias;
  config.o_bias = attention_bias;
  config.qk_norm = QkNormConfig{.norm = std::get<RmsNormConfig>(config.norm)};
  set_windows(config, TRY(read_windows(reader, config.num_layers)));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
