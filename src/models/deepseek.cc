// DeepSeek V2, V3 and V3.2: latent attention, experts in all layers but the first ones, and in V3.2
// an indexer that chooses what a token attends to. The smallest models of V2 have plain attention.

#include "models/mla_fields.h"
#include "models/moe_fields.h"

namespace godwit {
namespace {

/// A field of which godwit computes one value, which is also what it means when it is absent.
Status expect_only(const ConfigReader& reader, const char* key, std::string_view value) {
  if (reader.find(key) != nullptr && TRY(reader.string(key)) != value) {
    return unimplemented(reader.name() + ": " + key + " is " + to_json(*reader.find(key)),
                         "godwit computes \"" + std::string(value) + "\" for this model");
  }
  return {};
}

/// Softmax over all experts, not renormalised, whatever norm_topk_prob says, as in Hugging Face's
/// code; groups are as good as their best expert.
Status read_v2_experts(const ConfigReader& reader, DecoderConfig& config) {
  TRY(expect_only(reader, "scoring_func", "softmax"));
  TRY(read_grouped_experts(reader, config));
  RouterConfig& router = config.moe->router;
  router.correction = nullptr;
  router.rule.score = RouterScore::kSoftmax;
  router.rule.two_best_of_group = false;
  router.rule.renormalize = false;
  constexpr const char* kMethod = "topk_method";
  if (reader.find(kMethod) != nullptr && TRY(reader.string(kMethod)) != "greedy") {
    return expect_only(reader, kMethod, "group_limited_greedy");
  }
  router.rule.groups = 1;
  router.rule.top_groups = 1;
  return {};
}

/// V3 and those after it.
Result<DecoderConfig> read_v3(const ConfigReader& reader) {
  DecoderConfig config = TRY(read_decoder_config(reader, {.latent_attention = true}));
  TRY(expect_only(reader, "scoring_func", "sigmoid"));
  TRY(expect_only(reader, "topk_method", "noaux_tc"));
  TRY(read_grouped_experts(reader, config));
  return config;
}

/// Which layers have an indexer of their own: `indexer_types`, or a letter for each layer.
Status read_indexer_layers(const ConfigReader& reader, DecoderConfig& config) {
  constexpr const char* kTypes = "indexer_types";
  constexpr const char* kPattern = "index_topk_pattern";
  const std::size_t count = config.layers.size();
  const auto types = TRY(reader.optional_strings(kTypes));
  std::vector<std::string> kinds = types.value_or(std::vector<std::string>());
  if (!types && reader.find(kPattern) != nullptr) {
    for (const char letter : TRY(reader.string(kPattern))) {
      kinds.push_back(letter == 'F' ? "full" : letter == 'S' ? "shared" : "unknown");
    }
  } else if (!types) {
    constexpr const char* kFrequency = "index_topk_freq";
    if (TRY(reader.optional_integer(kFrequency)).value_or(1) > 1) {
      return reader.unexpected(kFrequency, "1, or indexer_types beside it");
    }
    kinds.assign(count, "full");
  }
  const std::string expected = "full (F) or shared (S) for each of the " + std::to_string(count) +
                               " layers, full for the first";
  const char* key = types ? kTypes : kPattern;
  if (kinds.size() != count || kinds.front() != "full") {
    return reader.unexpected(key, expected);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (kinds[i] != "full" && kinds[i] != "shared") {
      return reader.unexpected(key, expected);
    }
    config.layers[i].has_indexer = kinds[i] == "full";
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Model>> create_deepseek_v2(const Json& json,
                                                  const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  const bool has_rank = reader.find("kv_lora_rank") != nullptr;
  const bool latent = TRY(reader.boolean("use_mla", has_rank));
  if (has_rank && !latent) {
    return reader.unexpected(
        "use_mla", "true, since kv_lora_rank is " + to_json(*reader.find("kv_lora_rank")));
  }
  DecoderConfig config = TRY(read_decoder_config(reader, {.latent_attention = latent}));
  if (!latent) {
    TRY(read_attention_bias(reader, config));
  }
  TRY(read_v2_experts(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

Result<std::unique_ptr<Model>> create_deepseek_v3(const Json& json,
                                                  const std::string& config_name) {
  DecoderConfig config = TRY(read_v3(ConfigReader(json, config_name)));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

Result<std::unique_ptr<Model>> create_deepseek_v32(const Json& json,
                                                   const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_v3(reader));
  TRY(read_indexer(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

/// GLM 5: as V3.2, with the indexer's rope on interleaved pairs, and layers that take the last
/// choice of an earlier one.
Result<std::unique_ptr<Model>> create_glm_moe_dsa(const Json& json,
                                                  const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_v3(reader));
  TRY(read_indexer(reader, config));
  config.mla->indexer->interleaved_rope = TRY(reader.boolean("indexer_rope_interleave", true));
  TRY(read_indexer_layers(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
