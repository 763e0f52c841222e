// Qwen3-MoE: Qwen3 with experts in all or some layers.

#include "models/moe_fields.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_qwen3_moe(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  TRY(read_attention_bias(reader, config));
  config.qk_norm = QkNormConfig{.norm = std::get<RmsNormConfig>(config.norm)};
  if (TRY(reader.boolean("use_sliding_window", false))) {
    const std::int64_t window = TRY(reader.integer("sliding_window"));
    set_windows(config, std::vector<std::int64_t>(config.layers.size(), window));
  }
  config.moe = TRY(read_moe_config(reader, config));
  config.moe->router.rule = {.score = RouterScore::kSoftmax,
                             .renormalize = TRY(reader.boolean("norm_topk_prob", false))};
  TRY(read_sparse_layers(reader, {"decoder_sparse_step", "mlp_only_layers"}, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
