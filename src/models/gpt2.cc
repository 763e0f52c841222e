// GPT-2: learned positions, linear layers stored transposed, one norm before each block.

#include "models/gpt_decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_gpt2(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  GptDecoderConfig config;
  config.vocab_size = TRY(reader.integer("vocab_size"));
  config.hidden_size = TRY(reader.integer("n_embd"));
  config.num_layers = TRY(reader.integer("n_layer", 1, ConfigReader::kMostLayers));
  config.num_heads = TRY(reader.integer("n_head", 1, 65536));
  config.max_positions = TRY(reader.integer("n_positions"));
  config.intermediate_size =
      TRY(reader.optional_integer("n_inner")).value_or(4 * config.hidden_size);
  config.norm.epsilon = static_cast<float>(TRY(reader.positive("layer_norm_epsilon")));
  config.activation = TRY(read_activation(reader, "activation_function"));
  config.transposed = TRY(reader.boolean("linears_are_turned", true));
  config.tied_embeddings = TRY(reader.boolean("tie_word_embeddings", true));
  if (!TRY(reader.boolean("scale_attn_weights", true))) {
    return unimplemented(config_name + ": scale_attn_weights is false");
  }
  for (const char* key : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"}) {
    if (TRY(reader.boolean(key, false))) {
      return unimplemented(config_name + ": " + key + " is true");
    }
  }
  config.names = {.base = "transformer.",
                  .embedding = "wte",
                  .positions = "wpe",
                  .layers = "h.",
                  .attention_norm = "ln_1",
                  .mlp_norm = "ln_2",
                  .qkv = "attn.c_attn",
                  .attention_out = "attn.c_proj",
                  .mlp_up = "mlp.c_fc",
                  .mlp_down = "mlp.c_proj",
                  .final_norm = "ln_f"};
  TRY(check_gpt_config(reader, config));
  return std::unique_ptr<Model>(std::make_unique<GptDecoder>(std::move(config)));
}

}  // namespace godwit
