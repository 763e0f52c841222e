// ERNIE 4.5, mixtures of experts: chosen by a corrected softmax, beside shared ones, in the layers
// of an interval; neighbouring channels are rotated.

#include "models/moe_fields.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_ernie4_5_moe(const Json& json,
                                                   const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader, {.tied_when_absent = true}));
  config.ropes.front().interleaved = true;
  if (TRY(reader.boolean("use_bias", false))) {
    return unimplemented(config_name + ": use_bias is true",
                         "godwit computes ERNIE 4.5 without biases, as it was published");
  }
  MoeConfig moe = TRY(read_moe_config(reader, config, {.top_k = "moe_k"}));
  moe.router.rule = {.score = RouterScore::kSoftmax,
                     .renormalize = true,
                     .sum_minimum = reader.find("moe_norm_min") != nullptr
                                        ? static_cast<float>(TRY(reader.positive("moe_norm_min")))
                                        : 1e-12F};
  moe.router.correction = "mlp.moe_statics.e_score_correction_bias";
  moe.router.correction_is_matrix = true;
  const auto shared = TRY(reader.optional_integer("moe_num_shared_experts", 0));
  if (shared.value_or(0) > 0) {
    moe.shared = shared_expert(config, *shared * moe.experts.width);
  }
  config.moe = moe;
  TRY(read_sparse_layers(reader, {"moe_layer_interval"}, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
