// Nemotron-H: each layer is one block, of Mamba-2, attention without positions, a feed-forward
// block without a gate, or experts that have none either.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "models/moe_fields.h"
#include "models/recurrent_fields.h"

namespace godwit {
namespace {

struct Block {
  char letter;  ///< In hybrid_override_pattern.
  std::vector<std::string_view> types;
  bool recurrent;
  bool has_attention;
  bool sparse;
};

/// What each layer is: `hybrid_override_pattern`, a letter a layer, or `layers_block_type`, a name
/// each. Where both are there, they must agree.
Result<std::vector<DecoderLayerConfig>> read_blocks(const ConfigReader& reader) {
  const std::vector<Block> kinds = {{'M', {"linear_attention", "mamba"}, true, true, false},
                                    {'*', {"full_attention", "attention"}, false, true, false},
                                    {'-', {"mlp"}, false, false, false},
                                    {'E', {"moe"}, false, false, true}};
  constexpr const char* kPattern = "hybrid_override_pattern";
  constexpr const char* kTypes = "layers_block_type";
  const std::string pattern = reader.find(kPattern) == nullptr ? "" : TRY(reader.string(kPattern));
  const auto types = TRY(reader.optional_strings(kTypes));
  const std::size_t count = types ? types->size() : pattern.size();
  const auto stated = TRY(reader.optional_integer("num_hidden_layers"));
  const char* key = types ? kTypes : kPattern;
  if (count == 0 || count > static_cast<std::size_t>(ConfigReader::kMostLayers) ||
      (stated && static_cast<std::size_t>(*stated) != count)) {
    return reader.unexpected(key,
                             "the kind of each layer, of which num_hidden_layers says how many");
  }
  if (types && !pattern.empty() && pattern.size() != count) {
    return reader.unexpected(kPattern, "the layers that layers_block_type says");
  }
  std::vector<DecoderLayerConfig> layers;
  for (std::size_t i = 0; i < count; ++i) {
    const auto is_kind = [&](const Block& kind) {
      const bool by_letter = pattern.empty() || pattern[i] == kind.letter;
      return by_letter &&
             (!types || std::ranges::find(kind.types, (*types)[i]) != kind.types.end());
    };
    const auto kind = std::ranges::find_if(kinds, is_kind);
    if (kind == kinds.end()) {
      return reader.unexpected(key, "M (mamba), * (attention), - (mlp) or E (moe) for each layer");
    }
    layers.push_back({.rope = std::nullopt,
                      .sparse = kind->sparse,
                      .recurrent = kind->recurrent,
                      .has_attention = kind->has_attention,
                      .has_mlp = !kind->has_attention});
  }
  return layers;
}

Status read_experts(const ConfigReader& reader, DecoderConfig& config) {
  if (reader.find("moe_latent_size") != nullptr) {
    return unimplemented(
        reader.name() + ": moe_latent_size is " + to_json(*reader.find("moe_latent_size")),
        "godwit has Nemotron-H with experts of the model's own width");
  }
  const std::vector<DecoderLayerConfig> layers = config.layers;
  TRY(read_grouped_experts(reader, config));
  config.layers = layers;
  config.moe->router.gate = "mixer.gate";
  config.moe->router.correction = "mixer.gate.e_score_correction_bias";
  config.moe->experts.gate = nullptr;
  config.moe->experts.up = "mixer.experts.#.up_proj.weight";
  config.moe->experts.down = "mixer.experts.#.down_proj.weight";
  if (config.moe->shared) {
    config.moe->shared =
        shared_expert(config, TRY(reader.integer("moe_shared_expert_intermediate_size")));
    config.moe->shared->name = "mixer.shared_experts";
    config.moe->shared->mlp.gate = nullptr;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Model>> create_nemotron_h(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  const std::vector<DecoderLayerConfig> layers = TRY(read_blocks(reader));
  DecoderConfig config =
      TRY(read_decoder_config(reader, {.activation = "mlp_hidden_act",
                                       .layer_count = static_cast<std::int64_t>(layers.size()),
                                       .epsilon = "layer_norm_epsilon",
                                       .one_rope = false}));
  config.layers = layers;
  TRY(read_attention_bias(reader, config));
  config.mlp_bias = TRY(reader.boolean("mlp_bias", false));
  config.mlp_gate_name = nullptr;
  Mamba2Config mamba = TRY(read_mamba2(reader, config.hidden_size, epsilon_of(config),
                                       {.heads = "mamba_num_heads",
                                        .head_dim = "mamba_head_dim",
                                        .groups = "n_groups",
                                        .state_size = "ssm_state_size",
                                        .taps = "conv_kernel",
                                        .expand = nullptr,
                                        .proj_bias = "use_bias",
                                        .conv_bias = "use_conv_bias"}));
  mamba.norm_each_group = true;
  config.recurrent = mamba;
  if (std::ranges::any_of(layers, &DecoderLayerConfig::sparse)) {
    TRY(read_experts(reader, config));
  }
  config.block_norms = {.before_attention = "norm", .before_mlp = "norm"};
  config.attention_name = "mixer";
  config.recurrent_name = "mixer";
  config.mlp_name = "mixer";
  config.embedding_name = "backbone.embeddings";
  config.layers_name = "backbone.layers";
  config.final_norm = "backbone.norm_f";
  config.draft_part = "mtp.";
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
