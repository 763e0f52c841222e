// Qwen1.5-MoE and Qwen2-MoE: Qwen2 with experts in some layers, and a shared expert behind a gate.

#include "models/moe_fields.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_qwen2_moe(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  config.qkv_bias = TRY(reader.boolean("qkv_bias", true));
  set_windows(config, TRY(read_windows(reader, config.num_layers)));
  config.moe = TRY(read_moe_config(reader, config));
  config.moe->router.rule = {.score = RouterScore::kSoftmax,
                             .renormalize = TRY(reader.boolean("norm_topk_prob", false))};
  config.moe->shared =
      shared_expert(config, TRY(reader.integer("shared_expert_intermediate_size")));
  config.moe->shared->name = "mlp.shared_expert";
  config.moe->shared->gate = "mlp.shared_expert_gate";
  TRY(read_sparse_layers(reader, {"decoder_sparse_step", "mlp_only_layers"}, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
