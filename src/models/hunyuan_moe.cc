// Hunyuan-A13B: experts beside a shared one in every layer, a norm on each head of q and k after
// they are rotated, and a theta grown by alpha.

#include "models/moe_fields.h"

namespace godwit {
namespace {

/// A number, or a list that says the same number for each layer.
Result<std::int64_t> read_same_in_all_layers(const ConfigReader& reader, const char* key,
                                             std::int64_t absent) {
  const Json* value = reader.find(key);
  if (value == nullptr || !value->is_array()) {
    return TRY(reader.optional_integer(key)).value_or(absent);
  }
  const JsonArray& list = value->as_array();
  const auto first = list.empty() ? std::nullopt : list.front().to_int64();
  for (const Json& entry : list) {
    if (!first || *first < 1 || *first > ConfigReader::kLargest || entry.to_int64() != *first) {
      return reader.unexpected(key, "one number > 0 for all layers");
    }
  }
  return first ? Result<std::int64_t>(*first)
               : reader.unexpected(key, "one number > 0 for all layers");
}

}  // namespace

Result<std::unique_ptr<Model>> create_hunyuan_moe(const Json& json,
                                                  const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  TRY(read_attention_bias(reader, config));
  if (TRY(reader.boolean("use_qk_norm", true))) {
    config.qk_norm = QkNormConfig{.norm = std::get<RmsNormConfig>(config.norm),
                                  .after_rope = true,
                                  .q = "query_layernorm",
                                  .k = "key_layernorm"};
  }
  const std::int64_t top_k = TRY(read_same_in_all_layers(reader, "moe_topk", 1));
  const std::int64_t shared = TRY(read_same_in_all_layers(reader, "num_shared_expert", 1));
  Json plain = json;
  plain.set("moe_topk", top_k);
  config.moe = TRY(read_moe_config(ConfigReader(plain, config_name), config,
                                   {.top_k = "moe_topk", .width = "intermediate_size"}));
  config.moe->router.rule = {.score = RouterScore::kSoftmax, .renormalize = true};
  config.moe->router.gate = "mlp.gate.wg";
  if (TRY(reader.boolean("use_mixed_mlp_moe", true))) {
    config.moe->shared = shared_expert(config, shared * config.moe->experts.width);
    config.moe->shared->name = "mlp.shared_mlp";
  }
  TRY(read_sparse_layers(reader, {}, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
