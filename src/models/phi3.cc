// Phi-3 and 3.5: fused projections, a rope that may rotate a part of each head and may choose
// between two lists of factors, and one sliding window for all layers.

#include "models/decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_phi3(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader, {.partial_rotation = true}));
  config.fused_qkv = true;
  config.fused_gate_up = true;
  const auto window = TRY(reader.optional_integer("sliding_window"));
  set_windows(config, std::vector<std::int64_t>(config.layers.size(), window.value_or(0)));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
