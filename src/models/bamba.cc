// Bamba: Mamba-2, and attention in some layers, of whose heads a part is rotated.

#include "models/recurrent_fields.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_bamba(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader, {.partial_rotation = true}));
  TRY(read_attention_bias(reader, config));
  config.mlp_bias = TRY(reader.boolean("mlp_bias", false));
  constexpr const char* kRotated = "attn_rotary_emb";
  if (const auto rotated = TRY(reader.optional_integer(kRotated, 2, config.head_dim))) {
    if (*rotated % 2 != 0) {
      return reader.unexpected(kRotated, "an even number of channels");
    }
    config.ropes.front().rotary_dim = *rotated;
  }
  config.recurrent = TRY(read_mamba2(reader, config.hidden_size, epsilon_of(config)));
  TRY(read_recurrent_layers(reader, config));
  config.block_norms.before_mlp = "pre_ff_layernorm";
  config.mlp_name = "feed_forward";
  config.final_norm = "model.final_layernorm";
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
