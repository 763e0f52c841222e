// MPT: ALiBi, no biases at all.

#include "models/gpt_decoder.h"

namespace godwit {

Result<std::unique_ptr<Model>> create_mpt(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  GptDecoderConfig config;
  config.vocab_size = TRY(reader.integer("vocab_size"));
  config.hidden_size = TRY(reader.integer("d_model"));
  config.num_layers = TRY(reader.integer("n_layers", 1, ConfigReader::kMostLayers));
  config.num_heads = TRY(reader.integer("n_heads", 1, 65536));
  config.max_positions = TRY(reader.integer("max_seq_len"));
  // Whatever expansion_ratio says, as in Hugging Face's code.
  config.intermediate_size = 4 * config.hidden_size;
  // Files for MPT's own code lack the field; that code leaves LayerNorm's default.
  const bool given = reader.find("layer_norm_epsilon") != nullptr;
  config.norm.epsilon =
      given ? static_cast<float>(TRY(reader.positive("layer_norm_epsilon"))) : 1e-5F;
  config.norm.has_bias = false;
  config.qkv_bias = false;
  config.attention_out_bias = false;
  config.mlp_bias = false;
  config.alibi = true;
  config.tied_embeddings = TRY(reader.boolean("tie_word_embeddings", true));
  if (!TRY(reader.boolean("no_bias", true))) {
    return unimplemented(config_name + ": no_bias is false");
  }
  if (const Json* scale = reader.find("logit_scale"); scale != nullptr) {
    return unimplemented(config_name + ": logit_scale is " + to_json(*scale));
  }
  const Json* nested = reader.find("attn_config");
  if (nested == nullptr || !nested->is_object()) {
    return reader.unexpected("attn_config", "an object");
  }
  const ConfigReader attention(*nested, config_name + ": attn_config");
  if (!TRY(attention.boolean("alibi", false))) {
    return unimplemented(attention.name() + ": alibi is not true",
                         "godwit computes MPT with ALiBi");
  }
  if (TRY(attention.integer("alibi_bias_max")) != 8) {
    return unimplemented(attention.name() + ": alibi_bias_max is not 8");
  }
  for (const char* key : {"qk_ln", "prefix_lm"}) {
    if (TRY(attention.boolean(key, false))) {
      return unimplemented(attention.name() + ": " + key + " is true");
    }
  }
  for (const char* key : {"clip_qkv", "softmax_scale"}) {
    if (const Json* value = attention.find(key); value != nullptr) {
      return unimplemented(attention.name() + ": " + key + " is " + to_json(*value));
    }
  }
  config.names = {.base = "transformer.",
                  .embedding = "wte",
                  .layers = "blocks.",
                  .attention_norm = "norm_1",
                  .mlp_norm = "norm_2",
                  .qkv = "attn.Wqkv",
                  .attention_out = "attn.out_proj",
                  .mlp_up = "ffn.up_proj",
                  .mlp_down = "ffn.down_proj",
                  .final_norm = "norm_f"};
  TRY(check_gpt_config(reader, config));
  return std::unique_ptr<Model>(std::make_unique<GptDecoder>(std::move(config)));
}

}  // namespace godwit
