// Reading of DecoderConfig from a config in Hugging Face's form.

#include "models/decoder.h"
#include "models/mla_fields.h"
#include "models/quantization_fields.h"

namespace godwit {

Result<DecoderConfig> read_decoder_config(const ConfigReader& reader, const DecoderFields& fields) {
  TRY(read_quantization(reader));
  DecoderConfig config;
  config.vocab_size = TRY(reader.integer("vocab_size"));
  config.hidden_size = TRY(reader.integer("hidden_size"));
  config.intermediate_size = TRY(reader.integer(fields.intermediate_size));
  config.num_layers = fields.layer_count;
  if (config.num_layers == 0) {
    config.num_layers = TRY(reader.integer(fields.num_layers, 1, ConfigReader::kMostLayers));
  }
  config.num_heads = TRY(reader.integer("num_attention_heads", 1, 65536));
  const auto kv_heads = TRY(reader.optional_integer("num_key_value_heads", 1, 65536));
  config.num_kv_heads = kv_heads.value_or(config.num_heads);
  if (config.num_heads % config.num_kv_heads != 0) {
    return reader.unexpected("num_key_value_heads", "a divisor of num_attention_heads " +
                                                        std::to_string(config.num_heads));
  }
  config.draft_layers =
      TRY(reader.optional_integer("num_nextn_predict_layers", 0, ConfigReader::kMostLayers))
          .value_or(0);
  config.max_positions = TRY(reader.integer(fields.max_positions));
  const auto epsilon = static_cast<float>(TRY(reader.positive(fields.epsilon)));
  if (fields.layer_norm) {
    config.norm = LayerNormConfig{.epsilon = epsilon, .has_bias = false};
  } else {
    config.norm = RmsNormConfig{.epsilon = epsilon, .weight_offset = fields.norm_weight_offset};
  }
  config.layers.resize(static_cast<std::size_t>(config.num_layers));
  if (fields.latent_attention) {
    TRY(read_latent_attention(reader, config, fields.one_rope));
  } else {
    config.head_dim = TRY(derive_head_dim(reader, config.hidden_size, config.num_heads));
  }
  if (fields.one_rope && !fields.latent_attention) {
    config.ropes.push_back(TRY(read_rope_config(
        reader, {.head_dim = config.head_dim, .partial = fields.partial_rotation})));
  }
  config.tied_embeddings = TRY(reader.boolean("tie_word_embeddings", fields.tied_when_absent));
  if (fields.activation != nullptr) {
    config.activation = TRY(read_activation(reader, fields.activation));
  }
  return config;
}

Status read_attention_bias(const ConfigReader& reader, DecoderConfig& config) {
  config.qkv_bias = TRY(reader.boolean("attention_bias", false));
  config.o_bias = config.qkv_bias;
  return {};
}

Status read_rope_layers(const ConfigReader& reader, std::int64_t interval, DecoderConfig& config) {
  constexpr const char* kKey = "no_rope_layers";
  const Json* list = reader.find(kKey);
  if (list == nullptr || (list->is_array() && list->as_array().empty())) {
    const std::int64_t every =
        TRY(reader.optional_integer("no_rope_layer_interval")).value_or(interval);
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
      if ((static_cast<std::int64_t>(i) + 1) % every == 0) {
        config.layers[i].rope = std::nullopt;
      }
    }
    return {};
  }
  const std::string expected = std::to_string(config.num_layers) + " numbers that are 0 or 1";
  if (!list->is_array() || list->as_array().size() != config.layers.size()) {
    return reader.unexpected(kKey, expected);
  }
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const auto value = list->as_array()[i].to_int64();
    if (value != 0 && value != 1) {
      return reader.unexpected(kKey, expected);
    }
    if (value == 0) {
      config.layers[i].rope = std::nullopt;
    }
  }
  return {};
}

void set_windows(DecoderConfig& config, const std::vector<std::int64_t>& windows) {
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].window = windows[i];
  }
}

void set_ropes(DecoderConfig& config, const RopeChoice& choice) {
  for (DecoderLayerConfig& layer : config.layers) {
    layer.rope = layer.window > 0 ? choice.with_window : choice.without;
  }
}

}  // namespace godwit
