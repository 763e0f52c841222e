#include "models/gguf_config.h"

#include <array>
#include <string>

namespace godwit {
namespace {

struct GgufArchitecture {
  std::string_view name;          // general.architecture, the prefix of the other keys
  std::string_view architecture;  // Hugging Face's class
  bool rope_interleave;           // llama's converter reorders q and k so that pairs are adjacent
};

constexpr std::array<GgufArchitecture, 3> kArchitectures = {{
    {.name = "llama", .architecture = "LlamaForCausalLM", .rope_interleave = true},
    {.name = "qwen2", .architecture = "Qwen2ForCausalLM", .rope_interleave = false},
    {.name = "qwen3", .architecture = "Qwen3ForCausalLM", .rope_interleave = false},
}};

Result<GgufArchitecture> find_architecture(const GgufFile& file) {
  const std::string_view name = TRY(file.get_string("general.architecture"));
  std::string known;
  for (const GgufArchitecture& row : kArchitectures) {
    if (row.name == name) {
      return row;
    }
    known += known.empty() ? "" : ", ";
    known += row.name;
  }
  return unimplemented(file.name() + ": godwit has no GGUF architecture " + std::string(name),
                       "it has " + known);
}

struct KeyPair {
  const char* gguf;
  const char* config;
};

Status copy_integers(const GgufFile& file, const std::string& prefix, Json& config) {
  constexpr std::array<KeyPair, 6> kRequired = {{
      {"block_count", "num_hidden_layers"},
      {"context_length", "max_position_embeddings"},
      {"embedding_length", "hidden_size"},
      {"feed_forward_length", "intermediate_size"},
      {"attention.head_count", "num_attention_heads"},
      {"attention.head_count_kv", "num_key_value_heads"},
  }};
  for (const KeyPair& pair : kRequired) {
    config.set(pair.config, TRY(file.get_integer(prefix + pair.gguf)));
  }
  if (file.contains(prefix + "attention.key_length")) {
    config.set("head_dim", TRY(file.get_integer(prefix + "attention.key_length")));
  }
  return {};
}

/// Refuses heads whose values are narrower than their keys, or of which a part is rotated.
Status check_head_sizes(const GgufFile& file, const std::string& prefix, const Json& config) {
  const std::int64_t heads = TRY(file.get_integer(prefix + "attention.head_count"));
  const std::int64_t hidden = TRY(file.get_integer(prefix + "embedding_length"));
  const Json* given = config.find("head_dim");
  std::int64_t head_dim = given != nullptr ? given->to_int64().value_or(0) : 0;
  if (head_dim <= 0 && heads > 0) {
    head_dim = hidden / heads;
  }
  for (const char* key : {"attention.value_length", "rope.dimension_count"}) {
    if (!file.contains(prefix + key)) {
      continue;
    }
    const std::int64_t size = TRY(file.get_integer(prefix + key));
    if (size != head_dim) {
      return unimplemented(file.name() + ": " + prefix + key + " is " + std::to_string(size) +
                               ", but a head has " + std::to_string(head_dim) + " channels",
                           "godwit computes models in which all of these are equal");
    }
  }
  return {};
}

/// GGUF names rope scalings of its own; llama3's is stored as factors in rope_freqs.weight.
Status copy_rope(const GgufFile& file, const std::string& prefix, Json& config) {
  const std::string base = prefix + "rope.freq_base";
  config.set("rope_theta", file.contains(base) ? TRY(file.get_number(base)) : 10000.0);
  // Older files give the factor under another name, and one without a type means linear.
  std::string factor = prefix + "rope.scaling.factor";
  if (!file.contains(factor)) {
    factor = prefix + "rope.scale_linear";
  }
  const std::string type = prefix + "rope.scaling.type";
  std::string_view name = file.contains(factor) ? "linear" : "none";
  if (file.contains(type)) {
    name = TRY(file.get_string(type));
  }
  if (name == "none") {
    return {};
  }
  Json scaling;
  scaling.set("rope_type", name);
  if (file.contains(factor)) {
    scaling.set("factor", TRY(file.get_number(factor)));
  }
  config.set("rope_scaling", std::move(scaling));
  return {};
}

Result<std::int64_t> vocab_size(const GgufFile& file) {
  const StoredTensor* embedding = file.find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2) {
    return invalid_argument(file.name() + ": token_embd.weight is missing or no matrix");
  }
  return embedding->shape[0];
}

}  // namespace

Result<Json> config_from_gguf(const GgufFile& file) {
  const GgufArchitecture architecture = TRY(find_architecture(file));
  const std::string prefix = std::string(architecture.name) + ".";
  Json config;
  config.set("architectures", JsonArray{Json(architecture.architecture)});
  config.set("vocab_size", TRY(vocab_size(file)));
  TRY(copy_integers(file, prefix, config));
  TRY(check_head_sizes(file, prefix, config));
  config.set("rms_norm_eps", TRY(file.get_number(prefix + "attention.layer_norm_rms_epsilon")));
  TRY(copy_rope(file, prefix, config));
  config.set("rope_interleave", architecture.rope_interleave);
  config.set("hidden_act", "silu");
  config.set("tie_word_embeddings", file.find("output.weight") == nullptr);
  config.set("attention_bias", file.find("blk.0.attn_q.bias") != nullptr);
  config.set("mlp_bias", file.find("blk.0.ffn_gate.bias") != nullptr);
  return config;
}

}  // namespace godwit
