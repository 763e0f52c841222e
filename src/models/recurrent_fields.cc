#include "models/recurrent_fields.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace godwit {
namespace {

/// With these bounds the bytes of a state stay within 64 bits.
constexpr std::int64_t kMostHeads = 65536;
constexpr std::int64_t kWidest = 65536;

using Recurs = std::vector<bool>;

Result<Recurs> by_types(const ConfigReader& reader, const char* key, std::size_t count) {
  const auto types = TRY(reader.optional_strings(key));
  if (types->size() != count) {
    return reader.unexpected(key, std::to_string(count) + " names, as num_hidden_layers says");
  }
  Recurs recurs;
  for (const std::string& type : *types) {
    const bool here = type == "linear_attention" || type == "mamba";
    if (!here && type != "full_attention" && type != "attention") {
      return reader.unexpected(key, "names that are linear_attention (or mamba) or full_attention");
    }
    recurs.push_back(here);
  }
  return recurs;
}

/// A list of layers, counted from `first`.
Result<Recurs> listed(const ConfigReader& reader, const char* key, std::size_t count,
                      std::int64_t first) {
  const std::string expected = "a list of layers, each from " + std::to_string(first) + " to " +
                               std::to_string(static_cast<std::int64_t>(count) + first - 1);
  const Json* list = reader.find(key);
  if (list == nullptr || !list->is_array()) {
    return reader.unexpected(key, expected);
  }
  Recurs in_list(count, false);
  for (const Json& entry : list->as_array()) {
    const auto layer = entry.to_int64();
    if (!layer || *layer < first || *layer >= static_cast<std::int64_t>(count) + first) {
      return reader.unexpected(key, expected);
    }
    in_list[static_cast<std::size_t>(*layer - first)] = true;
  }
  return in_list;
}

Result<Recurs> by_attention_list(const ConfigReader& reader, const char* key, std::size_t count) {
  Recurs recurs = TRY(listed(reader, key, count, 0));
  recurs.flip();
  return recurs;
}

Result<Recurs> by_period(const ConfigReader& reader, const char* key, std::size_t count) {
  const std::int64_t period = TRY(reader.integer(key));
  const std::int64_t offset = TRY(reader.integer("attn_layer_offset", 0, period - 1));
  Recurs recurs(count);
  for (std::size_t i = 0; i < count; ++i) {
    recurs[i] = static_cast<std::int64_t>(i) % period != offset;
  }
  return recurs;
}

Result<Recurs> by_interval(const ConfigReader& reader, const char* key, std::size_t count) {
  const std::int64_t interval = TRY(reader.integer(key));
  Recurs recurs(count);
  for (std::size_t i = 0; i < count; ++i) {
    recurs[i] = (static_cast<std::int64_t>(i) + 1) % interval != 0;
  }
  return recurs;
}

/// Kimi's object, whose two lists have each layer once.
Result<Recurs> by_two_lists(const ConfigReader& reader, const char* key, std::size_t count) {
  const Json* object = reader.find(key);
  if (!object->is_object()) {
    return reader.unexpected(key, "an object with kda_layers and full_attn_layers");
  }
  const ConfigReader inner(*object, reader.name() + ": " + key);
  const Recurs recurs = TRY(listed(inner, "kda_layers", count, 1));
  Recurs attends = TRY(listed(inner, "full_attn_layers", count, 1));
  attends.flip();
  if (attends != recurs) {
    return inner.unexpected("full_attn_layers", "the layers that kda_layers lacks, and no other");
  }
  return recurs;
}

Status read_step_limit(const ConfigReader& reader, Mamba2Config& config) {
  constexpr const char* kKey = "time_step_limit";
  const Json* limit = reader.find(kKey);
  if (limit == nullptr) {
    return {};
  }
  const auto number = [&](std::size_t i) {
    return limit->as_array()[i].is_number() ? limit->as_array()[i].as_double() : -1.0;
  };
  if (!limit->is_array() || limit->as_array().size() != 2 || !(number(0) >= 0.0) ||
      !(number(1) >= number(0))) {
    return reader.unexpected(kKey, "two numbers >= 0, rising");
  }
  config.lowest_step = static_cast<float>(number(0));
  config.highest_step = static_cast<float>(number(1));
  return {};
}

}  // namespace

Status read_recurrent_layers(const ConfigReader& reader, DecoderConfig& decoder) {
  struct Row {
    const char* key;
    Result<Recurs> (*read)(const ConfigReader& reader, const char* key, std::size_t count);
  };
  constexpr Row kRows[] = {{"layer_types", by_types},
                           {"layers_block_type", by_types},
                           {"attn_layer_indices", by_attention_list},
                           {"attn_layer_period", by_period},
                           {"full_attention_interval", by_interval},
                           {"linear_attn_config", by_two_lists}};
  const char* first = nullptr;
  Recurs recurs;
  for (const Row& row : kRows) {
    if (reader.find(row.key) == nullptr) {
      continue;
    }
    const Recurs here = TRY(row.read(reader, row.key, decoder.layers.size()));
    if (first != nullptr && here != recurs) {
      return reader.unexpected(row.key, "the layers that " + std::string(first) + " says");
    }
    first = row.key;
    recurs = here;
  }
  if (first == nullptr) {
    return reader.unexpected("layer_types", "the kind of each layer");
  }
  for (std::size_t i = 0; i < recurs.size(); ++i) {
    decoder.layers[i].recurrent = recurs[i];
  }
  return {};
}

Result<std::int64_t> read_taps(const ConfigReader& reader, const char* key) {
  return reader.integer(key, 2, 256);
}

Result<std::int64_t> read_step_rank(const ConfigReader& reader, const char* key,
                                    std::int64_t hidden_size) {
  const Json* given = reader.find(key);
  if (given != nullptr && given->is_string() && given->as_string() == "auto") {
    return (hidden_size + 15) / 16;
  }
  return reader.integer(key, 1, kWidest);
}

float epsilon_of(const DecoderConfig& decoder) {
  return std::get<RmsNormConfig>(decoder.norm).epsilon;
}

Result<GatedDeltaNetConfig> read_gated_delta_net(const ConfigReader& reader,
                                                 const DecoderConfig& decoder) {
  GatedDeltaNetConfig config;
  config.hidden_size = decoder.hidden_size;
  config.key_heads = TRY(reader.integer("linear_num_key_heads", 1, kMostHeads));
  config.value_heads = TRY(reader.integer("linear_num_value_heads", 1, kMostHeads));
  config.key_dim = TRY(reader.integer("linear_key_head_dim", 1, kWidest));
  config.value_dim = TRY(reader.integer("linear_value_head_dim", 1, kWidest));
  config.taps = TRY(read_taps(reader, "linear_conv_kernel_dim"));
  config.epsilon = epsilon_of(decoder);
  if (config.value_heads % config.key_heads != 0) {
    return reader.unexpected("linear_num_value_heads", "a multiple of linear_num_key_heads " +
                                                           std::to_string(config.key_heads));
  }
  return config;
}

Result<Mamba2Config> read_mamba2(const ConfigReader& reader, std::int64_t hidden_size,
                                 float epsilon, const Mamba2Fields& fields) {
  Mamba2Config config;
  config.hidden_size = hidden_size;
  config.heads = TRY(reader.integer(fields.heads, 1, kMostHeads));
  config.groups = TRY(reader.integer(fields.groups, 1, kMostHeads));
  config.state_size = TRY(reader.integer(fields.state_size, 1, kWidest));
  config.taps = TRY(read_taps(reader, fields.taps));
  config.proj_bias = TRY(reader.boolean(fields.proj_bias, false));
  config.conv_bias = TRY(reader.boolean(fields.conv_bias, true));
  config.epsilon = epsilon;
  const std::int64_t expand = fields.expand == nullptr
                                  ? 0
                                  : TRY(reader.optional_integer(fields.expand, 1, 256)).value_or(2);
  const std::string wanted = "that times " + std::string(fields.head_dim) + " is " +
                             std::to_string(expand) + " times hidden_size";
  const Json* head_dim = reader.find(fields.head_dim);
  if (expand > 0 && (head_dim == nullptr || head_dim->is_string())) {  // "auto"
    config.head_dim = expand * hidden_size / config.heads;
  } else {
    config.head_dim = TRY(reader.integer(fields.head_dim, 1, kWidest));
  }
  if (expand > 0 && config.width() != expand * hidden_size) {
    return reader.unexpected(fields.heads, "so many " + wanted);
  }
  if (config.heads % config.groups != 0) {
    return reader.unexpected(fields.groups, "a divisor of " + std::string(fields.heads) + " " +
                                                std::to_string(config.heads));
  }
  TRY(read_step_limit(reader, config));
  return config;
}

}  // namespace godwit
