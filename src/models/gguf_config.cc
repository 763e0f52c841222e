#include "models/gguf_config.h"

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "layers/rotary.h"
#include "models/gguf_architectures.h"

namespace godwit {
namespace {

Result<const GgufArchitecture*> find_architecture(const GgufFile& file) {
  const std::string_view name = TRY(file.get_string("general.architecture"));
  std::string known;
  for (const GgufArchitecture& row : gguf_architectures()) {
    if (row.name == name) {
      return &row;
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

Status copy_integers(const GgufFields& fields, Json& config) {
  constexpr std::array<KeyPair, 5> kRequired = {{
      {"block_count", "num_hidden_layers"},
      {"context_length", "max_position_embeddings"},
      {"embedding_length", "hidden_size"},
      {"feed_forward_length", "intermediate_size"},
      {"attention.head_count", "num_attention_heads"},
  }};
  for (const KeyPair& pair : kRequired) {
    config.set(pair.config, TRY(fields.integer(pair.gguf)));
  }
  constexpr const char* kKvHeads = "attention.head_count_kv";
  config.set("num_key_value_heads",
             TRY(fields.integer(fields.contains(kKvHeads) ? kKvHeads : "attention.head_count")));
  if (fields.contains("attention.key_length")) {
    config.set("head_dim", TRY(fields.integer("attention.key_length")));
  }
  return {};
}

/// Refuses heads whose values are narrower than their keys, or of which a part is rotated unless
/// the model knows that.
Status copy_head_sizes(const GgufFields& fields, bool partial_rotation, Json& config) {
  const std::int64_t heads = TRY(fields.integer("attention.head_count"));
  const std::int64_t hidden = TRY(fields.integer("embedding_length"));
  const Json* given = config.find("head_dim");
  std::int64_t head_dim = given != nullptr ? given->to_int64().value_or(0) : 0;
  if (head_dim <= 0 && heads > 0) {
    head_dim = hidden / heads;
  }
  if (partial_rotation) {
    config.set("rotary_dim", head_dim);  // Unless the file says less.
  }
  for (const char* key : {"attention.value_length", "rope.dimension_count"}) {
    if (!fields.contains(key)) {
      continue;
    }
    const std::int64_t size = TRY(fields.integer(key));
    if (partial_rotation && std::string_view(key) == "rope.dimension_count") {
      config.set("rotary_dim", size);
    } else if (size != head_dim) {
      return unimplemented(fields.file().name() + ": " + fields.key(key) + " is " +
                               std::to_string(size) + ", but a head has " +
                               std::to_string(head_dim) + " channels",
                           "godwit computes models in which all of these are equal");
    }
  }
  return {};
}

/// A list of factors that is stored as a tensor.
Result<JsonArray> read_factors(const GgufFile& file, std::string_view name) {
  constexpr std::int64_t kMost = 65536;
  const StoredTensor* stored = file.find(name);
  if (stored == nullptr || stored->dtype != DType::kF32 || stored->shape.size() != 1 ||
      stored->shape[0] > kMost) {
    return invalid_argument(file.name() + ": " + std::string(name) +
                            " is missing or no list of f32 numbers, one a pair of channels");
  }
  std::vector<float> factors(static_cast<std::size_t>(stored->shape[0]));
  std::memcpy(factors.data(), stored->data.data(), factors.size() * sizeof(float));
  JsonArray list;
  for (const float factor : factors) {
    list.emplace_back(double{factor});
  }
  return list;
}

/// Files of Phi-3 tell LongRoPE by its tensors.
Result<Json> long_rope(const GgufFields& fields) {
  Json scaling;
  scaling.set("rope_type", "longrope");
  scaling.set("long_factor", TRY(read_factors(fields.file(), "rope_factors_long.weight")));
  scaling.set("short_factor", TRY(read_factors(fields.file(), "rope_factors_short.weight")));
  scaling.set("original_max_position_embeddings",
              TRY(fields.integer("rope.scaling.original_context_length")));
  scaling.set("attention_factor", TRY(fields.number("rope.scaling.attn_factor", 1.0)));
  return scaling;
}

/// llama.cpp multiplies YaRN's usual attention factor by attn_factor; its converter writes the
/// factor of the model's config, which is the whole, as yarn_attn_factor.
Result<Json> yarn_rope(const GgufFields& fields) {
  for (const char* key : {"rope.scaling.yarn_ext_factor", "rope.scaling.yarn_log_multiplier"}) {
    if (fields.contains(key)) {
      return fields.lacks(key, "this form of YaRN");
    }
  }
  constexpr std::array<KeyPair, 4> kNumbers = {{
      {"rope.scaling.factor", "factor"},
      {"rope.scaling.original_context_length", "original_max_position_embeddings"},
      {"rope.scaling.yarn_beta_fast", "beta_fast"},
      {"rope.scaling.yarn_beta_slow", "beta_slow"},
  }};
  Json scaling;
  scaling.set("rope_type", "yarn");
  for (const KeyPair& pair : kNumbers) {
    if (fields.contains(pair.gguf)) {
      scaling.set(pair.config, TRY(fields.number(pair.gguf)));
    }
  }
  const double factor = TRY(fields.number("rope.scaling.factor"));
  const double scaled =
      yarn_attention_factor(factor) * TRY(fields.number("rope.scaling.attn_factor", 1.0));
  scaling.set("attention_factor", TRY(fields.number("rope.scaling.yarn_attn_factor", scaled)));
  return scaling;
}

/// GGUF names rope scalings of its own; llama3's is stored as factors in rope_freqs.weight, which
/// models read themselves.
Result<std::optional<Json>> rope_scaling(const GgufFields& fields) {
  if (fields.file().find("rope_factors_long.weight") != nullptr) {
    return std::optional(TRY(long_rope(fields)));
  }
  // Older files give the factor under another name, and one without a type means linear.
  const char* factor =
      fields.contains("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
  std::string_view type = fields.contains(factor) ? "linear" : "none";
  if (fields.contains("rope.scaling.type")) {
    type = TRY(fields.file().get_string(fields.key("rope.scaling.type")));
  }
  if (type == "none") {
    return std::optional<Json>();
  }
  if (type == "yarn") {
    return std::optional(TRY(yarn_rope(fields)));
  }
  Json scaling;
  scaling.set("rope_type", type);
  if (fields.contains(factor)) {
    scaling.set("factor", TRY(fields.number(factor)));
  }
  return std::optional(std::move(scaling));
}

Status copy_rope(const GgufFields& fields, const GgufArchitecture& architecture, Json& config) {
  const double theta = TRY(fields.number("rope.freq_base", 10000.0));
  config.set("rope_theta", theta);
  config.set("rope_interleave", architecture.rope_interleave);
  if (!architecture.two_ropes && TRY(fields.number("rope.freq_base_swa", theta)) != theta) {
    return fields.lacks("rope.freq_base_swa", "a second rope in this architecture");
  }
  if (auto scaling = TRY(rope_scaling(fields))) {
    config.set("rope_scaling", *std::move(scaling));
  }
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
  const GgufArchitecture& architecture = *TRY(find_architecture(file));
  const GgufFields fields(file, architecture.name);
  Json config;
  config.set("architectures", JsonArray{Json(architecture.model)});
  config.set("vocab_size", TRY(vocab_size(file)));
  TRY(copy_integers(fields, config));
  TRY(copy_head_sizes(fields, architecture.partial_rotation, config));
  if (architecture.layer_norm) {
    config.set("layer_norm_eps", TRY(fields.number("attention.layer_norm_epsilon")));
  } else {
    config.set("rms_norm_eps", TRY(fields.number("attention.layer_norm_rms_epsilon")));
  }
  TRY(copy_rope(fields, architecture, config));
  config.set("hidden_act", architecture.activation);
  config.set("tie_word_embeddings", file.find("output.weight") == nullptr);
  config.set("attention_bias", file.find("blk.0.attn_q.bias") != nullptr ||
                                   file.find("blk.0.attn_qkv.bias") != nullptr);
  config.set("mlp_bias", file.find("blk.0.ffn_up.bias") != nullptr);
  if (architecture.complete != nullptr) {
    TRY(architecture.complete(fields, config));
  }
  return config;
}

}  // namespace godwit
