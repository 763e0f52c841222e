// Kimi Linear: three layers of delta attention for each of latent attention, which has no
// positions; experts after the first layers.

#include "models/moe_fields.h"
#include "models/recurrent_fields.h"

namespace godwit {
namespace {

/// A member of linear_attn_config in the hub's files; in newer ones a field with a longer name.
Result<std::int64_t> read_size(const ConfigReader& reader, const char* inner_key, const char* key) {
  constexpr const char* kInner = "linear_attn_config";
  const Json* inner = reader.find(kInner);
  const bool is_inner = inner != nullptr && inner->is_object();
  const ConfigReader from = is_inner ? ConfigReader(*inner, reader.name() + ": " + kInner) : reader;
  return from.integer(is_inner ? inner_key : key, 1, 65536);
}

Result<KimiDeltaConfig> read_kimi_delta(const ConfigReader& reader, const DecoderConfig& decoder) {
  KimiDeltaConfig config;
  config.hidden_size = decoder.hidden_size;
  config.heads = TRY(read_size(reader, "num_heads", "linear_num_heads"));
  config.head_dim = TRY(read_size(reader, "head_dim", "linear_head_dim"));
  config.taps = TRY(read_size(reader, "short_conv_kernel_size", "linear_conv_kernel_dim"));
  if (config.taps < 2) {
    return reader.unexpected("linear_conv_kernel_dim", "a convolution of at least two taps");
  }
  config.epsilon = epsilon_of(decoder);
  return config;
}

Status read_experts(const ConfigReader& reader, DecoderConfig& config) {
  MoeConfig moe = TRY(read_moe_config(reader, config, {.top_k = "num_experts_per_token"}));
  const std::int64_t experts = moe.router.num_experts;
  const std::int64_t groups =
      TRY(reader.optional_integer("num_expert_group", 1, experts)).value_or(1);
  const std::int64_t best = TRY(reader.optional_integer("topk_group", 1, groups)).value_or(1);
  if (experts % groups != 0 || experts / groups * best < moe.router.top_k) {
    return reader.unexpected("num_expert_group",
                             "groups of equal size, of which topk_group hold "
                             "num_experts_per_token experts");
  }
  moe.router.rule = {.score = RouterScore::kSigmoid,
                     .groups = groups,
                     .top_groups = best,
                     .two_best_of_group = true,
                     .renormalize = TRY(reader.boolean("moe_renormalize", true)),
                     .sum_epsilon = 1e-20F,
                     .scale = static_cast<float>(TRY(reader.positive("routed_scaling_factor")))};
  use_mixtral_names(moe);
  moe.router.correction = "block_sparse_moe.gate.e_score_correction_bias";
  const auto shared = TRY(reader.optional_integer("num_shared_experts", 0, 65536));
  if (shared.value_or(0) > 0) {
    moe.shared = shared_expert(config, *shared * moe.experts.width);
    moe.shared->name = "block_sparse_moe.shared_experts";
  }
  config.moe = moe;
  return read_sparse_layers(reader, {"first_k_dense_replace", "moe_layer_freq", "mlp_layer_types"},
                            config);
}

}  // namespace

Result<std::unique_ptr<Model>> create_kimi_linear(const Json& json,
                                                  const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  if (!TRY(reader.boolean("mla_use_nope", true))) {
    return unimplemented(config_name + ": mla_use_nope is false",
                         "godwit has Kimi Linear without positions");
  }
  DecoderConfig config = TRY(read_decoder_config(
      reader, {.max_positions = "model_max_length", .one_rope = false, .latent_attention = true}));
  set_ropes(config, {});
  config.recurrent = TRY(read_kimi_delta(reader, config));
  config.recurrent_name = "self_attn";
  TRY(read_recurrent_layers(reader, config));
  TRY(read_experts(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
