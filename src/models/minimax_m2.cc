// MiniMax-M2: experts in every layer by a corrected sigmoid, a norm on all of q and of k, half of
// each head rotated.

#include "models/moe_fields.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_minimax_m2(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader, {.partial_rotation = true}));
  config.qk_norm = QkNormConfig{.norm = std::get<RmsNormConfig>(config.norm), .whole_row = true};
  config.moe = TRY(read_moe_config(reader, config, {.width = "intermediate_size"}));
  config.moe->router.rule = {.score = RouterScore::kSigmoid, .renormalize = true};
  config.moe->router.correction = "block_sparse_moe.e_score_correction_bias";
  use_mixtral_names(*config.moe);
  TRY(read_sparse_layers(reader, {}, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
