// OPT: learned positions in a table that begins with two unused rows, relu.

#include "models/gpt_decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_opt(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  GptDecoderConfig config;
  config.vocab_size = TRY(reader.integer("vocab_size"));
  config.hidden_size = TRY(reader.integer("hidden_size"));
  config.num_layers = TRY(reader.integer("num_hidden_layers", 1, ConfigReader::kMostLayers));
  config.num_heads = TRY(reader.integer("num_attention_heads", 1, 65536));
  config.max_positions = TRY(reader.integer("max_position_embeddings"));
  config.position_offset = 2;
  config.intermediate_size = TRY(reader.integer("ffn_dim"));
  config.norm.epsilon = 1e-5F;  // The config has no field for it; OPT's code says so.
  config.activation = TRY(read_activation(reader, "activation_function"));
  config.qkv_layout = QkvLayout::kSeparate;
  config.tied_embeddings = TRY(reader.boolean("tie_word_embeddings", true));
  // Of the published sizes OPT-350M alone differs in these.
  for (const char* key : {"do_layer_norm_before", "enable_bias", "layer_norm_elementwise_affine"}) {
    if (!TRY(reader.boolean(key, true))) {
      return unimplemented(config_name + ": " + key + " is false");
    }
  }
  if (TRY(reader.boolean("_remove_final_layer_norm", false))) {
    return unimplemented(config_name + ": _remove_final_layer_norm is true");
  }
  const auto projected = TRY(reader.optional_integer("word_embed_proj_dim"));
  if (projected.value_or(config.hidden_size) != config.hidden_size) {
    return unimplemented(config_name + ": word_embed_proj_dim is not hidden_size");
  }
  config.names = {.base = "model.decoder.",
                  .embedding = "embed_tokens",
                  .positions = "embed_positions",
                  .layers = "layers.",
                  .attention_norm = "self_attn_layer_norm",
                  .mlp_norm = "final_layer_norm",
                  .q = "self_attn.q_proj",
                  .k = "self_attn.k_proj",
                  .v = "self_attn.v_proj",
                  .attention_out = "self_attn.out_proj",
                  .mlp_up = "fc1",
                  .mlp_down = "fc2",
                  .final_norm = "final_layer_norm"};
  TRY(check_gpt_config(reader, config));
  return std::unique_ptr<Model>(std::make_unique<GptDecoder>(std::move(config)));
}

}  // namespace godwit
