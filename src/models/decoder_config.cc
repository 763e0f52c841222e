// Reading of DecoderConfig from a config in Hugging Face's form.

#include "models/decoder.h"

namespace godwit {
namespace {

Status refuse_quantization(const ConfigReader& reader) {
  for (const char* key : {"quantization_config", "compression_config"}) {
    if (reader.find(key) != nullptr) {
      return unimplemented(
          reader.name() + ": " + key + " is set",
          "use a checkpoint in bf16, f16 or f32, or a GGUF file in Q4_0 to Q8_0 or Q2_K to Q6_K");
    }
  }
  return {};
}

Result<Llama3Rope> read_llama3(const ConfigReader& reader) {
  const Llama3Rope rope = {
      .factor = TRY(reader.positive("factor")),
      .low_freq_factor = TRY(reader.positive("low_freq_factor")),
      .high_freq_factor = TRY(reader.positive("high_freq_factor")),
      .original_max_positions = TRY(reader.positive("original_max_position_embeddings"))};
  if (rope.high_freq_factor <= rope.low_freq_factor) {
    return reader.unexpected("high_freq_factor", "a number > low_freq_factor");
  }
  return rope;
}

/// The newer form names the kind `rope_type`, the older `type`.
Result<RopeScaling> read_rope_scaling(const ConfigReader& reader) {
  const char* key = reader.find("rope_type") != nullptr ? "rope_type" : "type";
  const std::string type = reader.find(key) == nullptr ? "default" : TRY(reader.string(key));
  if (type == "default") {
    return RopeScaling(DefaultRope{});
  }
  if (type == "linear") {
    return RopeScaling(LinearRope{.factor = TRY(reader.positive("factor"))});
  }
  if (type == "llama3") {
    return RopeScaling(TRY(read_llama3(reader)));
  }
  return unimplemented(reader.name() + ": " + key + " is \"" + type + "\"",
                       "godwit has default, linear and llama3");
}

/// Rotation of a part of each head. None of the models here computes it.
Status refuse_partial_rotation(const ConfigReader& reader) {
  constexpr const char* kKey = "partial_rotary_factor";
  const Json* factor = reader.find(kKey);
  if (factor == nullptr || (factor->is_number() && factor->as_double() == 1.0)) {
    return {};
  }
  return unimplemented(reader.name() + ": " + kKey + " is " + to_json(*factor),
                       "this model rotates whole heads, which is 1");
}

}  // namespace

Result<std::vector<std::int64_t>> read_windows(const ConfigReader& reader,
                                               std::int64_t num_layers) {
  std::vector<std::int64_t> windows(static_cast<std::size_t>(num_layers), 0);
  const bool use_window = TRY(reader.boolean("use_sliding_window", false));
  const auto types = TRY(reader.optional_strings("layer_types"));
  if (!use_window && !types) {
    return windows;  // Whatever sliding_window says, as in Hugging Face's code.
  }
  const auto window = TRY(reader.optional_integer("sliding_window"));
  const std::int64_t first = types ? 0 : TRY(reader.integer("max_window_layers", 0));
  if (types && static_cast<std::int64_t>(types->size()) != num_layers) {
    return reader.unexpected("layer_types",
                             "one entry for each of the " + std::to_string(num_layers) + " layers");
  }
  for (std::int64_t i = 0; i < num_layers; ++i) {
    bool slides = i >= first;
    if (types) {
      const std::string& type = (*types)[static_cast<std::size_t>(i)];
      if (type != "full_attention" && type != "sliding_attention") {
        return reader.unexpected("layer_types", "full_attention or sliding_attention");
      }
      slides = type == "sliding_attention";
    }
    if (slides && !use_window) {
      return reader.unexpected("use_sliding_window", "true, since layer_types has sliding layers");
    }
    if (slides && !window) {
      return reader.unexpected("sliding_window", "the window of the sliding_attention layers");
    }
    windows[static_cast<std::size_t>(i)] = slides ? *window : 0;
  }
  return windows;
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

Result<RopeConfig> read_rope_config(const ConfigReader& reader, std::int64_t rotary_dim) {
  RopeConfig rope;
  rope.rotary_dim = rotary_dim;
  rope.interleaved = TRY(reader.boolean("rope_interleave", false));
  const bool newer = reader.find("rope_parameters") != nullptr;
  const char* key = newer ? "rope_parameters" : "rope_scaling";
  const Json* object = reader.find(key);
  if (object != nullptr && !object->is_object()) {
    return reader.unexpected(key, "an object");
  }
  const Json none;
  TRY(refuse_partial_rotation(reader));
  const ConfigReader scaling(object != nullptr ? *object : none, reader.name() + ": " + key);
  TRY(refuse_partial_rotation(scaling));
  rope.theta = TRY(newer ? scaling.positive("rope_theta") : reader.positive("rope_theta"));
  rope.scaling = TRY(read_rope_scaling(scaling));
  return rope;
}

Result<DecoderConfig> read_decoder_config(const ConfigReader& reader) {
  TRY(refuse_quantization(reader));
  DecoderConfig config;
  config.vocab_size = TRY(reader.integer("vocab_size"));
  config.hidden_size = TRY(reader.integer("hidden_size"));
  config.intermediate_size = TRY(reader.integer("intermediate_size"));
  config.num_layers = TRY(reader.integer("num_hidden_layers", 1, 4096));
  config.num_heads = TRY(reader.integer("num_attention_heads", 1, 65536));
  const auto kv_heads = TRY(reader.optional_integer("num_key_value_heads", 1, 65536));
  config.num_kv_heads = kv_heads.value_or(config.num_heads);
  if (config.num_heads % config.num_kv_heads != 0) {
    return reader.unexpected("num_key_value_heads", "a divisor of num_attention_heads " +
                                                        std::to_string(config.num_heads));
  }
  config.head_dim = TRY(derive_head_dim(reader, config.hidden_size, config.num_heads));
  config.max_positions = TRY(reader.integer("max_position_embeddings"));
  config.rms_norm_epsilon = static_cast<float>(TRY(reader.positive("rms_norm_eps")));
  config.rope = TRY(read_rope_config(reader, config.head_dim));
  config.windows.assign(static_cast<std::size_t>(config.num_layers), 0);
  config.tied_embeddings = TRY(reader.boolean("tie_word_embeddings", false));
  const std::string activation = TRY(reader.string("hidden_act"));
  if (activation != "silu") {
    return unimplemented(reader.name() + ": hidden_act is \"" + activation + "\"",
                         "this model is computed with silu");
  }
  return config;
}

}  // namespace godwit
