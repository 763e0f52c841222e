// Falcon: the 7B form (one head of keys, one norm for both blocks) and the 40B form (grouped heads,
// a norm for each block), as new_decoder_architecture says.

#include "models/gpt_decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_falcon(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  GptDecoderConfig config;
  config.vocab_size = TRY(reader.integer("vocab_size"));
  config.hidden_size = TRY(reader.integer("hidden_size"));
  config.num_layers = TRY(
      reader.integer(either(reader, "num_hidden_layers", "n_layer"), 1, ConfigReader::kMostLayers));
  config.num_heads = TRY(reader.integer(either(reader, "num_attention_heads", "n_head"), 1, 65536));
  config.max_positions = TRY(reader.integer("max_position_embeddings"));
  config.intermediate_size =
      TRY(reader.optional_integer("ffn_hidden_size")).value_or(4 * config.hidden_size);
  config.norm.epsilon = static_cast<float>(TRY(reader.positive("layer_norm_epsilon")));
  config.activation = reader.find("activation") == nullptr
                          ? Activation::kGelu
                          : TRY(read_activation(reader, "activation"));
  config.tied_embeddings = TRY(reader.boolean("tie_word_embeddings", true));
  const bool bias = TRY(reader.boolean("bias", false));
  config.qkv_bias = bias;
  config.attention_out_bias = bias;
  config.mlp_bias = bias;
  if (TRY(reader.boolean("alibi", false))) {
    return unimplemented(config_name + ": alibi is true", "godwit computes Falcon with rope");
  }
  const bool newer = TRY(reader.boolean("new_decoder_architecture", false));
  const bool multi_query = TRY(reader.boolean("multi_query", true));
  config.parallel = TRY(reader.boolean("parallel_attn", true));
  if (newer && !config.parallel) {
    return reader.unexpected("parallel_attn", "true, since new_decoder_architecture is");
  }
  const auto norms = TRY(reader.optional_integer("num_ln_in_parallel_attn", 1, 2));
  const bool two_norms = newer && norms.value_or(2) == 2;
  if (newer) {
    config.num_kv_heads = TRY(reader.integer("num_kv_heads", 1, 65536));
  } else if (multi_query) {
    config.num_kv_heads = 1;
  }
  config.qkv_layout = TRY(
      read_qkv_layout(reader, newer || !multi_query ? QkvLayout::kGrouped : QkvLayout::kStacked));
  config.names = {.base = "transformer.",
                  .embedding = "word_embeddings",
                  .layers = "h.",
                  .attention_norm = two_norms ? "ln_attn" : "input_layernorm",
                  .mlp_norm = two_norms         ? "ln_mlp"
                              : config.parallel ? nullptr
                                                : "post_attention_layernorm",
                  .qkv = "self_attention.query_key_value",
                  .attention_out = "self_attention.dense",
                  .mlp_up = "mlp.dense_h_to_4h",
                  .mlp_down = "mlp.dense_4h_to_h",
                  .final_norm = "ln_f"};
  TRY(check_gpt_config(reader, config));
  config.rope = TRY(read_gpt_rope(reader, config.head_dim, "rope_theta", nullptr));
  return std::unique_ptr<Model>(std::make_unique<GptDecoder>(std::move(config)));
}

}  // namespace godwit
