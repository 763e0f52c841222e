// Reading of GemmaConfig from a config in Hugging Face's form.

#include "models/gemma_parts.h"

namespace godwit {
namespace {

constexpr const char* kShared = "num_kv_shared_layers";

/// False, null and "vision" (where only the tokens of an image see each other) are one for text.
Status refuse_looking_ahead(const ConfigReader& reader) {
  constexpr const char* kKey = "use_bidirectional_attention";
  const Json* value = reader.find(kKey);
  if (value == nullptr || (value->is_string() && value->as_string() == "vision")) {
    return {};
  }
  if (value->is_string() || TRY(reader.boolean(kKey, false))) {
    return unimplemented(reader.name() + ": " + kKey + " is " + to_json(*value),
                         "godwit generates text, for which attention looks back");
  }
  return {};
}

}  // namespace

Result<float> read_softcap(const ConfigReader& reader, const char* key) {
  return reader.find(key) != nullptr ? static_cast<float>(TRY(reader.positive(key))) : 0.0F;
}

Result<RopeConfig> read_local_rope(const ConfigReader& reader, std::int64_t head_dim) {
  if (reader.find("rope_parameters") != nullptr) {
    return read_rope_config(reader, {.head_dim = head_dim, .layer_type = "sliding_attention"});
  }
  return RopeConfig{.theta = TRY(reader.positive("rope_local_base_freq")),
                    .rotary_dim = head_dim,
                    .scaling = DefaultRope{}};
}

Result<GemmaConfig> read_gemma_config(const ConfigReader& reader, std::int64_t pattern) {
  GemmaConfig config;
  config.decoder = TRY(read_decoder_config(
      reader, {.activation = "hidden_activation", .tied_when_absent = true, .one_rope = false}));
  DecoderConfig& decoder = config.decoder;
  TRY(refuse_looking_ahead(reader));
  TRY(read_attention_bias(reader, decoder));
  decoder.logits_softcap = TRY(read_softcap(reader, "final_logit_softcapping"));
  set_windows(decoder, TRY(read_alternating_windows(reader, decoder.num_layers, pattern)));
  set_ropes(decoder, {.with_window = 1, .without = 0});
  config.per_layer_width =
      TRY(reader.optional_integer("hidden_size_per_layer_input", 0)).value_or(0);
  config.per_layer_vocab_size =
      TRY(reader.optional_integer("vocab_size_per_layer_input")).value_or(decoder.vocab_size);
  for (std::int64_t i = 0; i < decoder.num_layers; ++i) {
    config.layers.push_back({.head_dim = decoder.head_dim,
                             .num_kv_heads = decoder.num_kv_heads,
                             .intermediate_size = decoder.intermediate_size,
                             .kv_source = i});
  }
  return config;
}

Status read_kv_sharing(const ConfigReader& reader, GemmaConfig& config) {
  const std::int64_t shared = TRY(reader.optional_integer(kShared, 0)).value_or(0);
  const std::int64_t first = config.num_layers() - shared;
  if (shared > 0 && first < 1) {
    return reader.unexpected(kShared, "fewer than the " + std::to_string(config.num_layers()) +
                                          " layers, so that one has keys to share");
  }
  const auto window = [&](std::int64_t layer) {
    return config.decoder.layers[static_cast<std::size_t>(layer)].window;
  };
  for (std::int64_t i = first; i < config.num_layers(); ++i) {
    std::int64_t source = first - 1;
    while (source >= 0 && window(source) != window(i)) {
      --source;
    }
    if (source < 0) {
      return reader.unexpected(kShared,
                               "few enough that of the layers before, one is of the kind "
                               "of layer " +
                                   std::to_string(i));
    }
    GemmaLayerConfig& layer = config.layers[static_cast<std::size_t>(i)];
    const GemmaLayerConfig& from = config.layer(source);
    if (layer.head_dim != from.head_dim || layer.num_kv_heads != from.num_kv_heads) {
      return reader.unexpected(
          kShared, "layers of the same sizes, but layer " + std::to_string(i) + " has " +
                       std::to_string(layer.num_kv_heads) + " x " + std::to_string(layer.head_dim) +
                       " and layer " + std::to_string(source) + " " +
                       std::to_string(from.num_kv_heads) + " x " + std::to_string(from.head_dim));
    }
    layer.kv_source = source;
  }
  return {};
}

std::vector<LayerCacheSpec> GemmaConfig::cache_specs() const {
  std::vector<LayerCacheSpec> specs;
  for (std::int64_t i = 0; i < num_layers(); ++i) {
    if (layer(i).kv_source == i) {
      specs.push_back(
          {.layer = i,
           .num_kv_heads = layer(i).num_kv_heads,
           .key_dim = layer(i).head_dim,
           .value_dim = layer(i).head_dim,
           .retention = Retention::window(decoder.layers[static_cast<std::size_t>(i)].window)});
    }
  }
  return specs;
}

ModelGeometry GemmaConfig::geometry() const {
  return {.num_layers = decoder.num_layers,
          .vocab_size = decoder.vocab_size,
          .hidden_size = decoder.hidden_size,
          .num_heads = decoder.num_heads,
          .intermediate_size = decoder.intermediate_size,
          .max_positions = decoder.max_positions};
}

}  // namespace godwit
