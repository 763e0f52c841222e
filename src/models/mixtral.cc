// Mixtral: Mistral with eight experts in every layer, of which the two best compute a token.

#include "models/moe_fields.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_mixtral(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  const auto window = TRY(reader.optional_integer("sliding_window"));
  set_windows(config, std::vector<std::int64_t>(config.layers.size(), window.value_or(0)));
  config.moe = TRY(read_moe_config(reader, config, {.width = "intermediate_size"}));
  config.moe->router.rule = {.score = RouterScore::kSoftmax, .renormalize = true};
  use_mixtral_names(*config.moe);
  TRY(read_sparse_layers(reader, {}, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
