// SmolLM3: Llama in which some layers know no positions.

#include "models/decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_smollm3(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader, {.tied_when_absent = true}));
  TRY(read_attention_bias(reader, config));
  config.mlp_bias = TRY(reader.boolean("mlp_bias", false));
  set_windows(config, TRY(read_windows(reader, config.num_layers)));
  TRY(read_rope_layers(reader, 4, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
