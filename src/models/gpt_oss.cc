// gpt-oss: experts in every layer with a bounded gate and biases, attention sinks, a window in
// every second layer.

#include "models/moe_fields.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_gpt_oss(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader));
  config.qkv_bias = TRY(reader.boolean("attention_bias", true));
  config.o_bias = config.qkv_bias;
  config.sinks = "sinks";
  set_windows(config, TRY(read_alternating_windows(reader, config.num_layers, 2)));
  MoeConfig moe = TRY(read_moe_config(reader, config, {.width = "intermediate_size"}));
  moe.router.rule.score = RouterScore::kSoftmaxOfChosen;
  moe.router.gate = "mlp.router";
  moe.router.gate_bias = true;
  // The published code has these numbers where config files lack them.
  const bool limited = reader.find("swiglu_limit") != nullptr;
  moe.experts.form = {
      .activation = Activation::kQuickGelu,
      .limit = limited ? static_cast<float>(TRY(reader.positive("swiglu_limit"))) : 7.0F,
      .up_offset = 1.0F};
  moe.experts.storage = ExpertStorage::kInterleavedColumns;
  moe.experts.gate = "mlp.experts.gate_up_proj";
  moe.experts.down = "mlp.experts.down_proj";
  moe.experts.has_bias = true;
  config.moe = moe;
  TRY(read_sparse_layers(reader, {}, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
