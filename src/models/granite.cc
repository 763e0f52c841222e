// Granite 3 and 4: Llama with a factor at each of four places; dense, or with experts in every
// layer and, in some models, a shared one; Granite 4 with recurrent layers.

#include "models/moe_fields.h"
#include "models/recurrent_fields.h"

namespace godwit {
namespace {

Result<DecoderConfig> read_granite(const ConfigReader& reader) {
  DecoderConfig config = TRY(read_decoder_config(reader));
  TRY(read_attention_bias(reader, config));
  config.embedding_scale = static_cast<float>(TRY(reader.positive("embedding_multiplier")));
  config.residual_scale = static_cast<float>(TRY(reader.positive("residual_multiplier")));
  config.attention_scale = static_cast<float>(TRY(reader.positive("attention_multiplier")));
  config.logits_scale = static_cast<float>(1.0 / TRY(reader.positive("logits_scaling")));
  return config;
}

/// Experts in every layer, and in some models a shared one.
Status read_experts(const ConfigReader& reader, DecoderConfig& config) {
  MoeConfig moe = TRY(read_moe_config(reader, config, {.width = "intermediate_size"}));
  moe.router.rule.score = RouterScore::kSoftmaxOfChosen;
  moe.router.gate = "block_sparse_moe.router.layer";
  moe.experts.storage = ExpertStorage::kRows;
  moe.experts.gate = "block_sparse_moe.input_linear.weight";
  moe.experts.down = "block_sparse_moe.output_linear.weight";
  const auto width = TRY(reader.optional_integer("shared_intermediate_size", 0));
  if (width.value_or(0) > 0) {
    moe.shared = shared_expert(config, *width);
    moe.shared->name = "shared_mlp";
    moe.shared->mlp.fused = true;
    moe.shared->mlp.gate_up = "input_linear";
    moe.shared->mlp.down = "output_linear";
  }
  config.moe = moe;
  return read_sparse_layers(reader, {}, config);
}

}  // namespace

Result<std::unique_ptr<Model>> create_granite(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_granite(reader));
  config.mlp_bias = TRY(reader.boolean("mlp_bias", false));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

Result<std::unique_ptr<Model>> create_granitemoe(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_granite(reader));
  TRY(read_experts(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

/// Granite 4: Mamba-2, and attention in some layers, which in most models has no positions. The
/// smaller ones have the shared expert alone.
Result<std::unique_ptr<Model>> create_granitemoehybrid(const Json& json,
                                                       const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_granite(reader));
  config.recurrent = TRY(read_mamba2(reader, config.hidden_size, epsilon_of(config)));
  TRY(read_recurrent_layers(reader, config));
  constexpr const char* kPositions = "position_embedding_type";
  if (reader.find(kPositions) == nullptr || TRY(reader.string(kPositions)) != "rope") {
    set_ropes(config, {});
  }
  if (TRY(reader.optional_integer("num_local_experts", 0)).value_or(0) > 0) {
    TRY(read_experts(reader, config));
  } else {
    config.intermediate_size = TRY(reader.integer("shared_intermediate_size"));
    config.mlp_name = "shared_mlp";
    config.fused_gate_up = true;
    config.gate_up_name = "input_linear";
    config.down_name = "output_linear";
  }
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
