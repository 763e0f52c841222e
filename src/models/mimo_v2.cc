// MiMo-V2-Flash: DeepSeek-V3's experts; values narrower than keys, and scaled; layers with a window
// have sinks, a theta of their own and twice the heads of keys and values.

#include "models/moe_fields.h"

namespace godwit {
namespace {

/// Which layers have a window: `layer_types`, or `hybrid_layer_pattern`, which has a 1 for each.
Status read_hybrid_windows(const ConfigReader& reader, DecoderConfig& config) {
  constexpr const char* kKey = "hybrid_layer_pattern";
  const Json* pattern = reader.find(kKey);
  if (pattern == nullptr) {
    set_windows(config, TRY(read_alternating_windows(reader, config.num_layers, 6)));
    return {};
  }
  const std::string expected = std::to_string(config.num_layers) + " numbers that are 0 or 1";
  if (!pattern->is_array() || pattern->as_array().size() != config.layers.size()) {
    return reader.unexpected(kKey, expected);
  }
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const auto flag = pattern->as_array()[i].to_int64();
    if (flag != 0 && flag != 1) {
      return reader.unexpected(kKey, expected);
    }
    config.layers[i].window = flag == 1 ? TRY(reader.integer("sliding_window")) : 0;
  }
  return {};
}

/// What config files say of layers with a window must be what the other layers have.
Status refuse_other_sizes(const ConfigReader& reader, const DecoderConfig& config) {
  const struct {
    const char* key;
    std::int64_t common;
  } kSizes[] = {{"swa_head_dim", config.head_dim},
                {"swa_v_head_dim", config.value_dim},
                {"swa_num_attention_heads", config.num_heads}};
  for (const auto& size : kSizes) {
    const auto given = TRY(reader.optional_integer(size.key));
    if (given.value_or(size.common) != size.common) {
      return reader.unexpected(size.key, std::to_string(size.common) + " as in the other layers");
    }
  }
  return {};
}

/// Layers with a window rotate by `swa_rope_theta`, or by their own member of rope_parameters.
Status read_ropes(const ConfigReader& reader, DecoderConfig& config) {
  const RopeReading whole = {
      .head_dim = config.head_dim, .partial = true, .layer_type = "full_attention"};
  RopeReading local = whole;
  local.layer_type = "sliding_attention";
  config.ropes = {TRY(read_rope_config(reader, whole)), TRY(read_rope_config(reader, local))};
  if (reader.find("swa_rope_theta") != nullptr) {
    config.ropes.back().theta = TRY(reader.positive("swa_rope_theta"));
  }
  set_ropes(config, {.with_window = 1, .without = 0});
  return {};
}

}  // namespace

Result<std::unique_ptr<Model>> create_mimo_v2(const Json& json, const std::string& config_name) {
  const ConfigReader reader(json, config_name);
  const bool published = reader.find("layernorm_epsilon") != nullptr;
  DecoderConfig config = TRY(read_decoder_config(
      reader, {.epsilon = published ? "layernorm_epsilon" : "rms_norm_eps", .one_rope = false}));
  config.qkv_bias = TRY(reader.boolean("attention_bias", false));
  config.value_dim = TRY(reader.integer("v_head_dim", 1, 65536));
  config.value_scale = static_cast<float>(TRY(reader.positive("attention_value_scale")));
  TRY(refuse_other_sizes(reader, config));
  TRY(read_hybrid_windows(reader, config));
  TRY(read_ropes(reader, config));
  config.sinks = "attention_sink_bias";
  const bool in_whole = TRY(reader.boolean("add_full_attention_sink_bias", false));
  const bool in_window = TRY(reader.boolean("add_swa_attention_sink_bias", true));
  const auto heads = TRY(reader.optional_integer("swa_num_key_value_heads", 1, 65536));
  const std::int64_t window_heads = heads.value_or(2 * config.num_kv_heads);
  if (config.num_heads % window_heads != 0) {
    return reader.unexpected("swa_num_key_value_heads", "a divisor of num_attention_heads " +
                                                            std::to_string(config.num_heads));
  }
  for (DecoderLayerConfig& layer : config.layers) {
    layer.sinks = layer.window > 0 ? in_window : in_whole;
    layer.num_kv_heads = layer.window > 0 ? window_heads : config.num_kv_heads;
  }
  TRY(read_grouped_experts(reader, config));
  return std::unique_ptr<Model>(std::make_unique<Decoder>(std::move(config)));
}

}  // namespace godwit
