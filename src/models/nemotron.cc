// Nemotron: norms scale by one plus what is stored, relu squared without a gate, part of a head
// rotated.

#include "models/gpt_decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_nemotron(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  GptDecoderConfig config;
  config.vocab_size = TRY(reader.integer("vocab_size"));
  config.hidden_size = TRY(reader.integer("hidden_size"));
  config.num_layers = TRY(reader.integer("num_hidden_layers", 1, ConfigReader::kMostLayers));
  config.num_heads = TRY(reader.integer("num_attention_heads", 1, 65536));
  config.num_kv_heads = TRY(reader.integer("num_key_value_heads", 1, 65536));
  config.head_dim = TRY(reader.optional_integer("head_dim", 0, 65536)).value_or(0);
  config.max_positions = TRY(reader.integer("max_position_embeddings"));
  config.intermediate_size = TRY(reader.integer("intermediate_size"));
  config.norm.epsilon = static_cast<float>(TRY(reader.positive("norm_eps")));
  const bool whole_scales = TRY(reader.boolean("norm_scales_are_whole", false));
  config.norm.weight_offset = whole_scales ? 0.0F : 1.0F;
  config.activation = TRY(read_activation(reader, "hidden_act"));
  config.qkv_layout = QkvLayout::kSeparate;
  const bool bias = TRY(reader.boolean("attention_bias", false));
  config.qkv_bias = bias;
  config.attention_out_bias = bias;
  config.mlp_bias = TRY(reader.boolean("mlp_bias", false));
  config.tied_embeddings = TRY(reader.boolean("tie_word_embeddings", false));
  config.names = {.base = "model.",
                  .embedding = "embed_tokens",
                  .layers = "layers.",
                  .attention_norm = "input_layernorm",
                  .mlp_norm = "post_attention_layernorm",
                  .q = "self_attn.q_proj",
                  .k = "self_attn.k_proj",
                  .v = "self_attn.v_proj",
                  .attention_out = "self_attn.o_proj",
                  .mlp_up = "mlp.up_proj",
                  .mlp_down = "mlp.down_proj",
                  .final_norm = "norm"};
  TRY(check_gpt_config(reader, config));
  config.rope = TRY(read_gpt_rope(reader, config.head_dim, "rope_theta", "partial_rotary_factor"));
  return std::unique_ptr<Model>(std::make_unique<GptDecoder>(std::move(config)));
}

}  // namespace godwit
