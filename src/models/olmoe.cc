// OLMoE: experts in every layer, a norm on all of q and of k, and a bound on q, k and v.

#include "models/moe_fields.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_olmoe(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  TRY(read_attention_bias(reader, config));
  config.qk_norm = QkNormConfig{.norm = std::get<RmsNormConfig>(config.norm), .whole_row = true};
  if (reader.find("clip_qkv") != nullptr) {
    config.qkv_limit = static_cast<float>(TRY(reader.positive("clip_qkv")));
  }
  config.moe = TRY(read_moe_config(reader, config, {.width = "intermediate_size"}));
  config.moe->router.rule = {.score = RouterScore::kSoftmax,
                             .renormalize = TRY(reader.boolean("norm_topk_prob", false))};
  TRY(read_sparse_layers(reader, {}, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
