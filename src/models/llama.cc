// Llama 2 and 3, and the many models that share its shape (SmolLM, TinyLlama, ...).

#include "models/decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_llama(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  TRY(read_attention_bias(reader, config));
  config.mlp_bias = TRY(reader.boolean("mlp_bias", false));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
