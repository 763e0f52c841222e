// GPT-NeoX and Pythia: both blocks beside each other with a norm each, part of a head rotated.

#include "models/gpt_decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_gpt_neox(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  GptDecoderConfig config;
  config.vocab_size = TRY(reader.integer("vocab_size"));
  config.hidden_size = TRY(reader.integer("hidden_size"));
  config.num_layers = TRY(reader.integer("num_hidden_layers", 1, ConfigReader::kMostLayers));
  config.num_heads = TRY(reader.integer("num_attention_heads", 1, 65536));
  config.max_positions = TRY(reader.integer("max_position_embeddings"));
  config.intermediate_size = TRY(reader.integer("intermediate_size"));
  config.norm.epsilon = static_cast<float>(TRY(reader.positive("layer_norm_eps")));
  config.activation = TRY(read_activation(reader, "hidden_act"));
  config.parallel = TRY(reader.boolean("use_parallel_residual", true));
  config.qkv_layout = TRY(read_qkv_layout(reader, QkvLayout::kGrouped));
  const bool bias = TRY(reader.boolean("attention_bias", true));
  config.qkv_bias = bias;
  config.attention_out_bias = bias;
  config.tied_embeddings = TRY(reader.boolean("tie_word_embeddings", false));
  config.names = {.base = "gpt_neox.",
                  .embedding = "embed_in",
                  .layers = "layers.",
                  .attention_norm = "input_layernorm",
                  .mlp_norm = "post_attention_layernorm",
                  .qkv = "attention.query_key_value",
                  .attention_out = "attention.dense",
                  .mlp_up = "mlp.dense_h_to_4h",
                  .mlp_down = "mlp.dense_4h_to_h",
                  .final_norm = "final_layer_norm",
                  .head = "embed_out"};
  TRY(check_gpt_config(reader, config));
  config.rope = TRY(read_gpt_rope(reader, config.head_dim,
                                  either(reader, "rotary_emb_base", "rope_theta"), "rotary_pct"));
  return std::unique_ptr<Model>(std::make_unique<GptDecoder>(std::move(config)));
}

}  // namespace godwit
