// Seed-OSS: Llama with a flag of its own for the bias after attention.

#include "models/decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_seed_oss(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  config.qkv_bias = TRY(reader.boolean("attention_bias", true));
  config.o_bias = TRY(reader.boolean("attention_out_bias", false));
  config.mlp_bias = TRY(reader.boolean("mlp_bias", false));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
