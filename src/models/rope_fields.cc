// Reading of a config's rope fields in both their forms.

#include <cmath>

#include "models/layer_fields.h"

namespace godwit {
namespace {

/// Where the fields are: the whole config, and the object about rope within it.
struct RopeFields {
  const ConfigReader& config;
  const ConfigReader& rope;
  std::int64_t rotary_dim;
};

Result<RopeScaling> read_linear(const RopeFields& fields) {
  return RopeScaling(LinearRope{.factor = TRY(fields.rope.positive("factor"))});
}

/// "dynamic" of Hunyuan, which is fixed by alpha; what others call so grows with the text.
Result<RopeScaling> read_ntk(const RopeFields& fields) {
  if (fields.rope.find("alpha") == nullptr) {
    return unimplemented(fields.rope.name() + ": the rope type \"dynamic\" has no alpha",
                         "godwit computes the kind that alpha fixes");
  }
  if (fields.rotary_dim <= 2) {
    return fields.rope.unexpected("alpha", "absent in a model that rotates two channels");
  }
  return RopeScaling(NtkRope{.alpha = TRY(fields.rope.positive("alpha"))});
}

Result<RopeScaling> read_llama3(const RopeFields& fields) {
  const ConfigReader& reader = fields.rope;
  const Llama3Rope rope = {
      .factor = TRY(reader.positive("factor")),
      .low_freq_factor = TRY(reader.positive("low_freq_factor")),
      .high_freq_factor = TRY(reader.positive("high_freq_factor")),
      .original_max_positions = TRY(reader.positive("original_max_position_embeddings"))};
  if (rope.high_freq_factor <= rope.low_freq_factor) {
    return reader.unexpected("high_freq_factor", "a number > low_freq_factor");
  }
  return RopeScaling(rope);
}

/// A number > 0, or what the published code takes where it is absent.
Result<double> positive_or(const ConfigReader& reader, const char* key, double absent) {
  return reader.find(key) != nullptr ? reader.positive(key) : Result<double>(absent);
}

Result<RopeScaling> read_yarn(const RopeFields& fields) {
  const ConfigReader& reader = fields.rope;
  YarnRope rope;
  rope.factor = TRY(reader.positive("factor"));
  rope.beta_fast = TRY(positive_or(reader, "beta_fast", rope.beta_fast));
  rope.beta_slow = TRY(positive_or(reader, "beta_slow", rope.beta_slow));
  rope.truncate = TRY(reader.boolean("truncate", true));
  constexpr const char* kOriginal = "original_max_position_embeddings";
  rope.original_max_positions =
      TRY(reader.find(kOriginal) != nullptr ? reader.positive(kOriginal)
                                            : fields.config.positive("max_position_embeddings"));
  if (rope.beta_fast <= rope.beta_slow) {
    return reader.unexpected("beta_fast", "a number > beta_slow");
  }
  if (reader.find("attention_factor") != nullptr) {
    rope.attention_factor = TRY(reader.positive("attention_factor"));
  } else if (reader.find("mscale") != nullptr && reader.find("mscale_all_dim") != nullptr) {
    rope.attention_factor =
        yarn_attention_factor(rope.factor, TRY(reader.positive("mscale"))) /
        yarn_attention_factor(rope.factor, TRY(reader.positive("mscale_all_dim")));
  } else {
    rope.attention_factor = yarn_attention_factor(rope.factor);
  }
  return RopeScaling(rope);
}

Result<std::vector<float>> read_factors(const RopeFields& fields, const char* key) {
  const Json* list = fields.rope.find(key);
  const std::string expected = std::to_string(fields.rotary_dim / 2) + " numbers > 0";
  std::vector<float> factors;
  if (list == nullptr || !list->is_array() ||
      list->as_array().size() != static_cast<std::size_t>(fields.rotary_dim / 2)) {
    return fields.rope.unexpected(key, expected);
  }
  for (const Json& entry : list->as_array()) {
    const double value = entry.is_number() ? entry.as_double() : 0.0;
    factors.push_back(static_cast<float>(value));
    if (!std::isnormal(factors.back()) || factors.back() < 0.0F) {
      return fields.rope.unexpected(key, expected);
    }
  }
  return factors;
}

Result<RopeScaling> read_long(const RopeFields& fields) {
  constexpr const char* kOriginal = "original_max_position_embeddings";
  LongRope rope;
  rope.short_factors = TRY(read_factors(fields, "short_factor"));
  rope.long_factors = TRY(read_factors(fields, "long_factor"));
  rope.original_max_positions = TRY(
      (fields.rope.find(kOriginal) != nullptr ? fields.rope : fields.config).integer(kOriginal));
  constexpr const char* kFactor = "attention_factor";
  // PhiMoE's two names.
  const bool two = fields.rope.find("short_mscale") != nullptr;
  if (two || fields.rope.find(kFactor) != nullptr) {
    rope.short_attention_factor = TRY(fields.rope.positive(two ? "short_mscale" : kFactor));
    rope.long_attention_factor = TRY(fields.rope.positive(two ? "long_mscale" : kFactor));
    return RopeScaling(std::move(rope));
  }
  const auto original = static_cast<double>(rope.original_max_positions);
  const double factor = TRY(fields.config.positive("max_position_embeddings")) / original;
  if (factor > 1.0 && original > 1.0) {
    rope.short_attention_factor = std::sqrt(1.0 + std::log(factor) / std::log(original));
    rope.long_attention_factor = rope.short_attention_factor;
  }
  return RopeScaling(std::move(rope));
}

/// Here the part that is rotated chooses among the pairs of the whole head.
Result<RopeScaling> read_proportional(const RopeFields& fields) {
  constexpr const char* kKey = "partial_rotary_factor";
  const double part = TRY(positive_or(fields.rope, kKey, 1.0));
  if (part > 1.0) {
    return fields.rope.unexpected(kKey, "a part of a head, at most 1");
  }
  return RopeScaling(ProportionalRope{
      .pairs = static_cast<std::int64_t>(part * static_cast<double>(fields.rotary_dim) / 2.0),
      .factor = TRY(positive_or(fields.rope, "factor", 1.0))});
}

/// The newer form names the kind `rope_type`, the older `type`.
const char* rope_type_key(const ConfigReader& rope) {
  return rope.find("rope_type") != nullptr ? "rope_type" : "type";
}

constexpr std::string_view kProportional = "proportional";

bool is_proportional(const ConfigReader& rope) {
  const Json* type = rope.find(rope_type_key(rope));
  return type != nullptr && type->is_string() && type->as_string() == kProportional;
}

Result<RopeScaling> read_rope_scaling(const RopeFields& fields) {
  struct Kind {
    std::string_view name;
    Result<RopeScaling> (*read)(const RopeFields& fields);
  };
  constexpr Kind kKinds[] = {{"linear", read_linear},           {"dynamic", read_ntk},
                             {"llama3", read_llama3},           {"yarn", read_yarn},
                             {"longrope", read_long},           {"su", read_long},
                             {kProportional, read_proportional}};
  const ConfigReader& reader = fields.rope;
  const char* key = rope_type_key(reader);
  const std::string type = reader.find(key) == nullptr ? "default" : TRY(reader.string(key));
  if (type == "default") {
    return RopeScaling(DefaultRope{});
  }
  std::string known = "default";
  for (const Kind& kind : kKinds) {
    if (kind.name == type) {
      return kind.read(fields);
    }
    known += ", " + std::string(kind.name);
  }
  return unimplemented(reader.name() + ": " + key + " is \"" + type + "\"", "godwit has " + known);
}

/// How many channels of a head are rotated.
Result<std::int64_t> read_rotary_dim(const ConfigReader& config, const ConfigReader& rope,
                                     const RopeReading& reading) {
  constexpr const char* kCount = "rotary_dim";
  if (reading.partial && config.find(kCount) != nullptr) {
    const std::int64_t count = TRY(config.integer(kCount, 2, reading.head_dim));
    if (count % 2 != 0) {
      return config.unexpected(kCount, "an even number of channels");
    }
    return count;
  }
  if (is_proportional(rope)) {
    return reading.head_dim;
  }
  constexpr const char* kKey = "partial_rotary_factor";
  const ConfigReader& reader = rope.find(kKey) != nullptr ? rope : config;
  if (reader.find(kKey) == nullptr) {
    return reading.head_dim;
  }
  const double factor = TRY(reader.positive(kKey));
  if (factor != 1.0 && !reading.partial) {
    return unimplemented(reader.name() + ": " + kKey + " is " + to_json(*reader.find(kKey)),
                         "this model rotates whole heads, which is 1");
  }
  const auto rotated = static_cast<std::int64_t>(static_cast<double>(reading.head_dim) * factor);
  if (factor > 1.0 || rotated < 2 || rotated % 2 != 0) {
    return reader.unexpected(kKey, "a part of the " + std::to_string(reading.head_dim) +
                                       " channels of a head that is an even number of them");
  }
  return rotated;
}

}  // namespace

Result<RopeConfig> read_rope_config(const ConfigReader& reader, const RopeReading& reading) {
  const bool newer = reader.find("rope_parameters") != nullptr;
  std::string key = newer ? "rope_parameters" : "rope_scaling";
  const Json* object = reader.find(key);
  if (newer && reading.layer_type != nullptr && object->is_object() &&
      object->find(reading.layer_type) != nullptr) {
    object = object->find(reading.layer_type);
    key += std::string(".") + reading.layer_type;
  }
  if (object != nullptr && !object->is_object()) {
    return reader.unexpected(key, "an object");
  }
  const Json none;
  const ConfigReader rope_reader(object != nullptr ? *object : none, reader.name() + ": " + key);
  RopeConfig rope;
  rope.rotary_dim = TRY(read_rotary_dim(reader, rope_reader, reading));
  rope.interleaved = TRY(reader.boolean("rope_interleave", false));
  rope.theta = TRY(newer ? rope_reader.positive("rope_theta") : reader.positive("rope_theta"));
  rope.scaling = TRY(
      read_rope_scaling({.config = reader, .rope = rope_reader, .rotary_dim = rope.rotary_dim}));
  return rope;
}

}  // namespace godwit
