#include "models/gguf_architectures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "models/config_reader.h"

namespace godwit {
namespace {

constexpr const char* kWindow = "attention.sliding_window";
constexpr const char* kPattern = "attention.sliding_window_pattern";

/// Which layers have a window: a list, or a period in which the last layer sees everything.
Result<std::vector<bool>> read_slides(const GgufFields& fields, std::int64_t period) {
  const std::int64_t layers = TRY(fields.integer("block_count"));
  const std::string expected = fields.file().name() + ": " + fields.key(kPattern);
  if (fields.contains(kPattern)) {
    if (auto list = fields.file().get_bools(fields.key(kPattern)); list.ok()) {
      if (static_cast<std::int64_t>(list->size()) != layers) {
        return invalid_argument(expected + " has " + std::to_string(list->size()) +
                                " entries for " + std::to_string(layers) + " layers");
      }
      return *std::move(list);
    }
    period = TRY(fields.integer(kPattern));
  }
  if (period < 1) {
    return invalid_argument(expected + " is " + std::to_string(period) + ", expected at least 1");
  }
  std::vector<bool> slides;
  // A number of layers that no model has is left to the reader of the config, which names it.
  for (std::int64_t i = 0; i < std::min(layers, ConfigReader::kMostLayers); ++i) {
    slides.push_back((i + 1) % period != 0);
  }
  return slides;
}

/// Sets layer_types and, unless it is 0, sliding_window. `period` and `absent` are what files
/// without these keys mean.
Status copy_windows(const GgufFields& fields, Json& config, std::int64_t period,
                    std::int64_t absent = 0) {
  const std::int64_t window = fields.contains(kWindow) ? TRY(fields.integer(kWindow)) : absent;
  JsonArray types;
  for (const bool slides : TRY(read_slides(fields, period))) {
    types.emplace_back(slides && window != 0 ? "sliding_attention" : "full_attention");
  }
  config.set("layer_types", std::move(types));
  if (window != 0) {
    config.set("sliding_window", window);
  }
  return {};
}

/// Gemma's scores are divided by the square root of the head size, but in one size of each
/// generation, which files tell by its number of layers, by that of hidden_size / heads.
Status copy_gemma(const GgufFields& fields, Json& config, std::int64_t layers_of_exception) {
  config.set("norm_scales_are_whole", true);
  const std::int64_t heads = TRY(fields.integer("attention.head_count"));
  const std::int64_t hidden = TRY(fields.integer("embedding_length"));
  const bool exception = TRY(fields.integer("block_count")) == layers_of_exception && heads > 0;
  config.set("query_pre_attn_scalar",
             exception ? hidden / heads : TRY(fields.integer("attention.key_length")));
  return {};
}

Status complete_gemma2(const GgufFields& fields, Json& config) {
  TRY(copy_gemma(fields, config, 46));
  // The first files of Gemma 2 lack these; all of its sizes have the same.
  config.set("attn_logit_softcapping", TRY(fields.number("attn_logit_softcapping", 50.0)));
  config.set("final_logit_softcapping", TRY(fields.number("final_logit_softcapping", 30.0)));
  return copy_windows(fields, config, 2, 4096);
}

Status complete_gemma3(const GgufFields& fields, Json& config) {
  TRY(copy_gemma(fields, config, 62));
  if (fields.contains("final_logit_softcapping")) {
    config.set("final_logit_softcapping", TRY(fields.number("final_logit_softcapping")));
  }
  // Older files lack the base of the layers with a window; it always was this.
  config.set("rope_local_base_freq", TRY(fields.number("rope.freq_base_swa", 10000.0)));
  return copy_windows(fields, config, 6);
}

Status complete_phi3(const GgufFields& fields, Json& config) {
  const std::int64_t window = fields.contains(kWindow) ? TRY(fields.integer(kWindow)) : 0;
  if (window != 0) {
    config.set("sliding_window", window);
  }
  return {};
}

/// OLMo 3 is OLMo 2 with windows.
Status complete_olmo2(const GgufFields& fields, Json& config) {
  if (!fields.contains(kWindow) || TRY(fields.integer(kWindow)) == 0) {
    return {};
  }
  config.set("architectures", JsonArray{Json("Olmo3ForCausalLM")});
  return copy_windows(fields, config, 4);
}

Status complete_exaone4(const GgufFields& fields, Json& config) {
  if (!fields.contains(kWindow)) {
    return {};
  }
  return copy_windows(fields, config, 4);
}

Status complete_cohere2(const GgufFields& fields, Json& config) {
  config.set("logit_scale", TRY(fields.number("logit_scale")));
  return copy_windows(fields, config, 4);
}

Status complete_glm4(const GgufFields& fields, Json&) {
  if (fields.contains("rope.dimension_sections")) {
    return fields.lacks("rope.dimension_sections", "rope over several axes");
  }
  return {};
}

Status complete_granite(const GgufFields& fields, Json& config) {
  constexpr const char* kRotates = "rope.scaling.finetuned";
  if (fields.contains(kRotates) && !TRY(fields.file().get_bool(fields.key(kRotates)))) {
    return fields.lacks(kRotates, "Granite without rope, which this key says");
  }
  const double heads = TRY(fields.number("attention.head_count"));
  const double hidden = TRY(fields.number("embedding_length"));
  const double head_dim = TRY(fields.number("attention.key_length", hidden / heads));
  config.set("attention_multiplier",
             TRY(fields.number("attention.scale", 1.0 / std::sqrt(head_dim))));
  config.set("embedding_multiplier", TRY(fields.number("embedding_scale", 1.0)));
  config.set("residual_multiplier", TRY(fields.number("residual_scale", 1.0)));
  config.set("logits_scaling", TRY(fields.number("logit_scale")));
  return {};
}

Status complete_seed_oss(const GgufFields& fields, Json& config) {
  config.set("attention_out_bias", fields.file().find("blk.0.attn_output.bias") != nullptr);
  return {};
}

/// Files do not say which layers know no positions; in the one size there is, every fourth.
Status complete_smollm3(const GgufFields&, Json& config) {
  config.set("no_rope_layer_interval", 4);
  return {};
}

struct Renamed {
  const char* from;
  const char* to;
};

/// Repeats fields under the names that a model's own config has.
void repeat(Json& config, std::initializer_list<Renamed> names) {
  for (const Renamed& name : names) {
    const Json value = *config.find(name.from);
    config.set(name.to, value);
  }
}

Status complete_gpt2(const GgufFields&, Json& config) {
  config.set("linears_are_turned", false);
  repeat(config, {{"hidden_size", "n_embd"},
                  {"num_hidden_layers", "n_layer"},
                  {"num_attention_heads", "n_head"},
                  {"max_position_embeddings", "n_positions"},
                  {"intermediate_size", "n_inner"},
                  {"layer_norm_eps", "layer_norm_epsilon"},
                  {"hidden_act", "activation_function"}});
  return {};
}

Status complete_gpt_neox(const GgufFields& fields, Json& config) {
  config.set("qkv_is_stacked", true);
  config.set("use_parallel_residual",
             TRY(fields.file().get_bool(fields.key("use_parallel_residual"))));
  return {};
}

Status complete_bloom(const GgufFields&, Json& config) {
  config.set("qkv_is_stacked", true);
  repeat(config,
         {{"max_position_embeddings", "seq_length"}, {"layer_norm_eps", "layer_norm_epsilon"}});
  return {};
}

/// All forms of Falcon that files can hold are the new one, with as many norms as there are and the
/// old one's single head of keys.
Status complete_falcon(const GgufFields& fields, Json& config) {
  config.set("qkv_is_stacked", true);
  config.set("new_decoder_architecture", true);
  config.set("num_ln_in_parallel_attn",
             fields.file().find("blk.0.attn_norm_2.weight") != nullptr ? 2 : 1);
  repeat(config, {{"num_key_value_heads", "num_kv_heads"},
                  {"intermediate_size", "ffn_hidden_size"},
                  {"attention_bias", "bias"},
                  {"layer_norm_eps", "layer_norm_epsilon"}});
  return {};
}

Status complete_mpt(const GgufFields& fields, Json& config) {
  constexpr const char* kClamp = "attention.clamp_kqv";
  if (TRY(fields.number(kClamp, 0.0)) != 0.0) {
    return fields.lacks(kClamp, "clamped queries and keys");
  }
  constexpr const char* kBias = "attention.max_alibi_bias";
  if (TRY(fields.number(kBias, 0.0)) != 8.0) {
    return fields.lacks(kBias, "MPT with another greatest bias than ALiBi's 8");
  }
  Json attention;
  attention.set("alibi", true);
  attention.set("alibi_bias_max", 8);
  config.set("attn_config", std::move(attention));
  config.set("no_bias", fields.file().find("blk.0.attn_qkv.bias") == nullptr);
  repeat(config, {{"hidden_size", "d_model"},
                  {"num_hidden_layers", "n_layers"},
                  {"num_attention_heads", "n_heads"},
                  {"max_position_embeddings", "max_seq_len"},
                  {"layer_norm_eps", "layer_norm_epsilon"}});
  return {};
}

Status complete_nemotron(const GgufFields&, Json& config) {
  config.set("norm_scales_are_whole", true);
  repeat(config, {{"layer_norm_eps", "norm_eps"}});
  return {};
}

}  // namespace

Status GgufFields::lacks(std::string_view name, std::string_view what) const {
  return unimplemented(
      file_.name() + ": godwit lacks " + std::string(what) + " (" + key(name) + ")",
      "use a file of another model");
}

std::span<const GgufArchitecture> gguf_architectures() {
  static constexpr auto kTable = std::to_array<GgufArchitecture>({
      {.name = "llama", .model = "LlamaForCausalLM", .rope_interleave = true},
      {.name = "qwen2", .model = "Qwen2ForCausalLM"},
      {.name = "qwen3", .model = "Qwen3ForCausalLM"},
      {.name = "gemma2",
       .model = "Gemma2ForCausalLM",
       .activation = "gelu_pytorch_tanh",
       .complete = &complete_gemma2},
      {.name = "gemma3",
       .model = "Gemma3ForCausalLM",
       .two_ropes = true,
       .activation = "gelu_pytorch_tanh",
       .complete = &complete_gemma3},
      {.name = "phi3",
       .model = "Phi3ForCausalLM",
       .partial_rotation = true,
       .complete = &complete_phi3},
      {.name = "olmo2", .model = "Olmo2ForCausalLM", .complete = &complete_olmo2},
      {.name = "glm4",
       .model = "Glm4ForCausalLM",
       .partial_rotation = true,
       .complete = &complete_glm4},
      {.name = "granite",
       .model = "GraniteForCausalLM",
       .rope_interleave = true,
       .complete = &complete_granite},
      {.name = "cohere2",
       .model = "Cohere2ForCausalLM",
       .layer_norm = true,
       .complete = &complete_cohere2},
      {.name = "exaone4", .model = "Exaone4ForCausalLM", .complete = &complete_exaone4},
      {.name = "seed_oss", .model = "SeedOssForCausalLM", .complete = &complete_seed_oss},
      {.name = "smollm3",
       .model = "SmolLM3ForCausalLM",
       .rope_interleave = true,
       .complete = &complete_smollm3},
      {.name = "gpt2",
       .model = "GPT2LMHeadModel",
       .layer_norm = true,
       .activation = "gelu_new",
       .complete = &complete_gpt2},
      {.name = "gptneox",
       .model = "GPTNeoXForCausalLM",
       .partial_rotation = true,
       .layer_norm = true,
       .activation = "gelu",
       .complete = &complete_gpt_neox},
      {.name = "bloom",
       .model = "BloomForCausalLM",
       .layer_norm = true,
       .complete = &complete_bloom},
      {.name = "falcon",
       .model = "FalconForCausalLM",
       .layer_norm = true,
       .complete = &complete_falcon},
      {.name = "mpt", .model = "MptForCausalLM", .layer_norm = true, .complete = &complete_mpt},
      {.name = "nemotron",
       .model = "NemotronForCausalLM",
       .partial_rotation = true,
       .layer_norm = true,
       .activation = "relu2",
       .complete = &complete_nemotron},
  });
  return kTable;
}

}  // namespace godwit
