// BLOOM: ALiBi, and a norm right after the embedding.

#include "models/gpt_decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_bloom(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  GptDecoderConfig config;
  config.vocab_size = TRY(reader.integer("vocab_size"));
  config.hidden_size = TRY(reader.integer(either(reader, "hidden_size", "n_embed")));
  config.num_layers = TRY(
      reader.integer(either(reader, "n_layer", "num_hidden_layers"), 1, ConfigReader::kMostLayers));
  config.num_heads = TRY(reader.integer(either(reader, "n_head", "num_attention_heads"), 1, 65536));
  // Published configs may lack the length; BLOOM's paper (table 3) gives 2048.
  config.max_positions = TRY(reader.optional_integer("seq_length")).value_or(2048);
  config.intermediate_size = 4 * config.hidden_size;
  config.norm.epsilon = static_cast<float>(TRY(reader.positive("layer_norm_epsilon")));
  config.activation = Activation::kGeluTanh;  // Fixed in BLOOM's code.
  config.alibi = true;
  config.qkv_layout = TRY(read_qkv_layout(reader, QkvLayout::kGrouped));
  config.tied_embeddings = TRY(reader.boolean("tie_word_embeddings", true));
  if (TRY(reader.boolean("apply_residual_connection_post_layernorm", false))) {
    return unimplemented(config_name + ": apply_residual_connection_post_layernorm is true");
  }
  config.names = {.base = "transformer.",
                  .embedding = "word_embeddings",
                  .embedding_norm = "word_embeddings_layernorm",
                  .layers = "h.",
                  .attention_norm = "input_layernorm",
                  .mlp_norm = "post_attention_layernorm",
                  .qkv = "self_attention.query_key_value",
                  .attention_out = "self_attention.dense",
                  .mlp_up = "mlp.dense_h_to_4h",
                  .mlp_down = "mlp.dense_4h_to_h",
                  .final_norm = "ln_f"};
  TRY(check_gpt_config(reader, config));
  return std::unique_ptr<Model>(std::make_unique<GptDecoder>(std::move(config)));
}

}  // namespace godwit
