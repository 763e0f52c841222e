// Command R7B (Cohere 2): both blocks read one layer norm; layers with a window rotate neighbouring
// channels, the others know no positions.

#include "models/decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_cohere2(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(
      reader, {.epsilon = "layer_norm_eps", .layer_norm = true, .tied_when_absent = true}));
  if (TRY(reader.boolean("use_qk_norm", false))) {
    return unimplemented(reader.name() + ": use_qk_norm is true",
                         "godwit computes Cohere 2 without a norm on queries and keys");
  }
  const bool attention_bias = TRY(reader.boolean("attention_bias", false));
  config.qkv_bias = attention_bias;
  config.o_bias = attention_bias;
  config.block_norms.before_mlp = nullptr;
  config.parallel = true;
  config.logits_scale = static_cast<float>(TRY(reader.positive("logit_scale")));
  config.ropes.front().interleaved = true;
  // Published files of this family say a pattern of 4 or nothing.
  set_windows(config, TRY(read_alternating_windows(reader, config.num_layers, 4)));
  for (DecoderLayerConfig& layer : config.layers) {
    layer.rope = layer.window > 0 ? std::optional<std::size_t>(0) : std::nullopt;
  }
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
