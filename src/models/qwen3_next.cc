// Qwen3-Next and Qwen3.5: three gated delta nets for each attention, whose output has a gate; dense
// or with experts.

#include "models/moe_fields.h"
#include "models/recurrent_fields.h"

namespace godwit {
namespace {

Result<DecoderConfig> read_qwen3_next(const ConfigReader& reader, const char* intermediate_size) {
  DecoderConfig config = TRY(read_decoder_config(reader, {.intermediate_size = intermediate_size,
                                                          .norm_weight_offset = 1.0F,
                                                          .partial_rotation = true}));
  TRY(read_attention_bias(reader, config));
  config.qk_norm = QkNormConfig{.norm = std::get<RmsNormConfig>(config.norm)};
  config.attention_gate = TRY(reader.boolean("attn_output_gate", true));
  config.recurrent = TRY(read_gated_delta_net(reader, config));
  config.recurrent_name = "linear_attn";
  config.draft_part = "mtp.";
  TRY(read_recurrent_layers(reader, config));
  return config;
}

Status read_experts(const ConfigReader& reader, DecoderConfig& config) {
  config.moe = TRY(read_moe_config(reader, config));
  config.moe->router.rule = {.score = RouterScore::kSoftmax,
                             .renormalize = TRY(reader.boolean("norm_topk_prob", true))};
  config.moe->shared =
      shared_expert(config, TRY(reader.integer("shared_expert_intermediate_size")));
  config.moe->shared->name = "mlp.shared_expert";
  config.moe->shared->gate = "mlp.shared_expert_gate";
  config.moe->experts.fused_gate = "mlp.experts.gate_up_proj";
  config.moe->experts.fused_down = "mlp.experts.down_proj";
  return read_sparse_layers(reader, {"decoder_sparse_step", "mlp_only_layers"}, config);
}

}  // namespace

Result<std::unique_ptr<Model>> create_qwen3_next(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_qwen3_next(reader, "intermediate_size"));
  std::get<GatedDeltaNetConfig>(*config.recurrent).rows_by_key_head = true;
  TRY(read_experts(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

Result<std::unique_ptr<Model>> create_qwen3_5(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_qwen3_next(reader, "intermediate_size"));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

Result<std::unique_ptr<Model>> create_qwen3_5_moe(const Json& json,
                                                  const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_qwen3_next(reader, "moe_intermediate_size"));
  TRY(read_experts(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
