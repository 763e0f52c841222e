// Mistral: Llama with one sliding window for all layers.

#include "models/decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_mistral(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  const auto window = TRY(reader.optional_integer("sliding_window"));
  set_windows(config, std::vector<std::int64_t>(config.layers.size(), window.value_or(0)));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
