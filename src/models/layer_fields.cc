#include "models/layer_fields.h"

#include <array>

namespace godwit {
namespace {

/// Which layers have a window, from `layer_types`.
Result<std::vector<bool>> read_layer_types(const ConfigReader& reader,
                                           const std::vector<std::string>& types,
                                           std::int64_t num_layers) {
  if (static_cast<std::int64_t>(types.size()) != num_layers) {
    return reader.unexpected("layer_types",
                             "one entry for each of the " + std::to_string(num_layers) + " layers");
  }
  std::vector<bool> slides;
  for (const std::string& type : types) {
    if (type != "full_attention" && type != "sliding_attention") {
      return reader.unexpected("layer_types", "full_attention or sliding_attention");
    }
    slides.push_back(type == "sliding_attention");
  }
  return slides;
}

/// Which layers have a window, from a pattern that repeats.
Result<std::vector<bool>> read_pattern(const ConfigReader& reader, std::int64_t num_layers,
                                       std::int64_t pattern) {
  constexpr const char* kKey = "sliding_window_pattern";
  std::vector<bool> slides;
  const Json* given = reader.find(kKey);
  if (given != nullptr && given->is_string()) {
    const std::string letters = TRY(reader.string(kKey));
    if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos) {
      return reader.unexpected(kKey, "a number or a text of the letters L (window) and G (all)");
    }
    for (std::int64_t i = 0; i < num_layers; ++i) {
      slides.push_back(letters[static_cast<std::size_t>(i) % letters.size()] == 'L');
    }
    return slides;
  }
  const std::int64_t every = TRY(reader.optional_integer(kKey)).value_or(pattern);
  for (std::int64_t i = 0; i < num_layers; ++i) {
    slides.push_back((i + 1) % every != 0);
  }
  return slides;
}

}  // namespace

Result<Activation> read_activation(const ConfigReader& reader, const char* key) {
  struct Row {
    std::string_view name;
    Activation activation;
  };
  constexpr std::array<Row, 8> kRows = {{{"gelu", Activation::kGelu},
                                         {"gelu_new", Activation::kGeluTanh},
                                         {"gelu_fast", Activation::kGeluTanh},
                                         {"gelu_pytorch_tanh", Activation::kGeluTanh},
                                         {"relu", Activation::kRelu},
                                         {"relu2", Activation::kReluSquared},
                                         {"silu", Activation::kSilu},
                                         {"swish", Activation::kSilu}}};
  const std::string name = TRY(reader.string(key));
  std::string known;
  for (const Row& row : kRows) {
    if (row.name == name) {
      return row.activation;
    }
    known += known.empty() ? "" : ", ";
    known += row.name;
  }
  return unimplemented(reader.name() + ": " + key + " is \"" + name + "\"", "godwit has " + known);
}

Result<std::int64_t> derive_head_dim(const ConfigReader& reader, std::int64_t hidden_size,
                                     std::int64_t num_heads) {
  // With at most 65536 heads and 4096 layers, the bytes of a page of cache stay within 64 bits.
  const auto given = TRY(reader.optional_integer("head_dim", 0, 65536));
  const std::int64_t head_dim = given.value_or(0) > 0 ? *given : hidden_size / num_heads;
  if (given.value_or(0) == 0 && hidden_size % num_heads != 0) {
    return invalid_argument(reader.name() + ": hidden_size " + std::to_string(hidden_size) +
                                " is no multiple of num_attention_heads " +
                                std::to_string(num_heads),
                            "give head_dim");
  }
  if (head_dim % 2 != 0) {
    return invalid_argument(reader.name() + ": the head size " + std::to_string(head_dim) +
                            " is odd, but rotary embedding rotates pairs");
  }
  return head_dim;
}

Result<std::vector<std::int64_t>> read_windows(const ConfigReader& reader, std::int64_t num_layers,
                                               bool used_when_absent) {
  std::vector<std::int64_t> windows(static_cast<std::size_t>(num_layers), 0);
  const bool use_window = TRY(reader.boolean("use_sliding_window", used_when_absent));
  const auto types = TRY(reader.optional_strings("layer_types"));
  if (!use_window && !types) {
    return windows;  // Whatever sliding_window says, as in Hugging Face's code.
  }
  const std::int64_t first = types ? 0 : TRY(reader.integer("max_window_layers", 0));
  std::vector<bool> slides;
  if (types) {
    slides = TRY(read_layer_types(reader, *types, num_layers));
  }
  for (std::int64_t i = 0; i < num_layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool here = types ? slides[at] : i >= first;
    if (here && !use_window) {
      return reader.unexpected("use_sliding_window", "true, since layer_types has sliding layers");
    }
    windows[at] = here ? TRY(reader.integer("sliding_window")) : 0;
  }
  return windows;
}

Result<std::vector<std::int64_t>> read_alternating_windows(const ConfigReader& reader,
                                                           std::int64_t num_layers,
                                                           std::int64_t pattern) {
  const auto types = TRY(reader.optional_strings("layer_types"));
  const std::vector<bool> slides = TRY(types ? read_layer_types(reader, *types, num_layers)
                                             : read_pattern(reader, num_layers, pattern));
  std::vector<std::int64_t> windows;
  for (const bool here : slides) {
    windows.push_back(here ? TRY(reader.integer("sliding_window")) : 0);
  }
  return windows;
}

}  // namespace godwit
