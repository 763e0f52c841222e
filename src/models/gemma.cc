// Gemma 2 and 3, text: norms around both blocks, capped scores and logits in Gemma 2, a norm on q
// and k and two ropes in Gemma 3.

#include <cmath>

#include "models/gemma_parts.h"

namespace godwit {
namespace {

/// What Gemma 2 and 3 share: norms around both blocks, with scales stored less 1; a scaled
/// embedding; a window in some layers.
Result<DecoderConfig> read_gemma(const ConfigReader& reader, std::int64_t pattern) {
  const bool newer = reader.find("hidden_activation") != nullptr;
  // GGUF files, unlike Hugging Face's, store the scales of norms as they are used.
  const bool whole_scales = TRY(reader.boolean("norm_scales_are_whole", false));
  DecoderConfig config =
      TRY(read_decoder_config(reader, {.activation = newer ? "hidden_activation" : "hidden_act",
                                       .norm_weight_offset = whole_scales ? 0.0F : 1.0F,
                                       .tied_when_absent = true,
                                       .one_rope = false}));
  if (TRY(reader.boolean("use_bidirectional_attention", false))) {
    return unimplemented(reader.name() + ": use_bidirectional_attention is true",
                         "godwit generates text, for which attention looks back");
  }
  TRY(read_attention_bias(reader, config));
  config.block_norms = {.before_attention = "input_layernorm",
                        .after_attention = "post_attention_layernorm",
                        .before_mlp = "pre_feedforward_layernorm",
                        .after_mlp = "post_feedforward_layernorm"};
  config.embedding_scale = std::sqrt(static_cast<float>(config.hidden_size));
  config.attention_scale =
      static_cast<float>(1.0 / std::sqrt(TRY(reader.positive("query_pre_attn_scalar"))));
  config.attention_softcap = TRY(read_softcap(reader, "attn_logit_softcapping"));
  config.logits_softcap = TRY(read_softcap(reader, "final_logit_softcapping"));
  set_windows(config, TRY(read_alternating_windows(reader, config.num_layers, pattern)));
  return config;
}

}  // namespace

Result<std::unique_ptr<Model>> create_gemma2(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  // Published files lack the pattern: every second layer sees everything.
  DecoderConfig config = TRY(read_gemma(reader, 2));
  config.ropes = {TRY(read_rope_config(reader, {.head_dim = config.head_dim}))};
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

Result<std::unique_ptr<Model>> create_gemma3(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  // Published files lack the pattern: every sixth layer sees everything.
  DecoderConfig config = TRY(read_gemma(reader, 6));
  config.qk_norm = QkNormConfig{.norm = std::get<RmsNormConfig>(config.norm)};
  config.ropes = {
      TRY(read_rope_config(reader, {.head_dim = config.head_dim, .layer_type = "full_attention"})),
      TRY(read_local_rope(reader, config.head_dim))};
  set_ropes(config, {.with_window = 1, .without = 0});
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
