// GPT-J: one norm feeds both blocks, the first channels of a head rotated in adjacent pairs.

#include "models/gpt_decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_gptj(const Json& json, const std::string& config_name) {
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
  config.parallel = true;
  config.qkv_layout = QkvLayout::kSeparate;
  config.qkv_bias = false;
  config.attention_out_bias = false;
  config.head_bias = true;
  config.tied_embeddings = TRY(reader.boolean("tie_word_embeddings", false));
  if (config.tied_embeddings) {
    return unimplemented(config_name + ": tie_word_embeddings is true");
  }
  // The base is not in the config: GPT-J's code fixes it.
  config.rope = RopeConfig{.theta = 10000.0,
                           .rotary_dim = TRY(reader.integer("rotary_dim", 2, 65536)),
                           .scaling = DefaultRope{},
                           .interleaved = true};
  if (config.rope->rotary_dim % 2 != 0 ||
      config.rope->rotary_dim > config.hidden_size / config.num_heads) {
    return reader.unexpected("rotary_dim", "an even number of a head's channels");
  }
  config.names = {.base = "transformer.",
                  .embedding = "wte",
                  .layers = "h.",
                  .attention_norm = "ln_1",
                  .q = "attn.q_proj",
                  .k = "attn.k_proj",
                  .v = "attn.v_proj",
                  .attention_out = "attn.out_proj",
                  .mlp_up = "mlp.fc_in",
                  .mlp_down = "mlp.fc_out",
                  .final_norm = "ln_f"};
  TRY(check_gpt_config(reader, config));
  return std::unique_ptr<Model>(std::make_unique<GptDecoder>(std::move(config)));
}

}  // namespace godwit
