// Qwen2 and Qwen2.5: biases on q, k and v, and a sliding window in the upper layers of some sizes.

#include "models/decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_qwen2(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  config.qkv_bias = true;
  set_windows(config, TRY(read_windows(reader, config.num_layers)));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
