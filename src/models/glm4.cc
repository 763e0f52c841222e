// GLM-4 (0414), dense: norms around both blocks, and neighbouring channels of a half of each head
// rotated.

#include "models/decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_glm4(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader, {.partial_rotation = true}));
  config.qkv_bias = TRY(reader.boolean("attention_bias", false));
  config.fused_gate_up = true;
  config.block_norms = {.before_attention = "input_layernorm",
                        .after_attention = "post_self_attn_layernorm",
                        .before_mlp = "post_attention_layernorm",
                        .after_mlp = "post_mlp_layernorm"};
  config.ropes.front().interleaved = true;
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
