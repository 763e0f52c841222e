// SmolLM3: Llama in which some layers know no positions.

#include "models/decoder.h"

namespace godwit {
namespace {

/// `no_rope_layers` has a 1 for each layer with rope, its name notwithstanding.
Result<std::vector<bool>> read_rope_layers(const ConfigReader& reader, std::int64_t num_layers) {
  constexpr const char* kKey = "no_rope_layers";
  std::vector<bool> rotated;
  const Json* list = reader.find(kKey);
  if (list == nullptr) {
    const std::int64_t interval = TRY(reader.integer("no_rope_layer_interval"));
    for (std::int64_t i = 0; i < num_layers; ++i) {
      rotated.push_back((i + 1) % interval != 0);
    }
    return rotated;
  }
  const std::string expected = std::to_string(num_layers) + " numbers that are 0 or 1";
  if (!list->is_array() || static_cast<std::int64_t>(list->as_array().size()) != num_layers) {
    return reader.unexpected(kKey, expected);
  }
  for (const Json& entry : list->as_array()) {
    const auto value = entry.to_int64();
    if (value != 0 && value != 1) {
      return reader.unexpected(kKey, expected);
    }
    rotated.push_back(value == 1);
  }
  return rotated;
}

}  // namespace

Result<std::unique_ptr<Model>> create_smollm3(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  DecoderConfig config = TRY(read_decoder_config(reader, {.tied_when_absent = true}));
  const bool attention_bias = TRY(reader.boolean("attention_bias", false));
  config.qkv_bias = attention_bias;
  config.o_bias = attention_bias;
  config.mlp_bias = TRY(reader.boolean("mlp_bias", false));
  set_windows(config, TRY(read_windows(reader, config.num_layers)));
  const std::vector<bool> rotated = TRY(read_rope_layers(reader, config.num_layers));
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].rope = rotated[i] ? std::optional<std::size_t>(0) : std::nullopt;
  }
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
