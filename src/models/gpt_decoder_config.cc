// Reading of what the configs of GPT-2's heirs have in common.

#include <algorithm>

#include "models/gpt_decoder.h"
#include "models/quantization_fields.h"

namespace godwit {

const char* either(const ConfigReader& reader, const char* key, const char* other) {
  return reader.find(key) == nullptr && reader.find(other) != nullptr ? other : key;
}

Status check_gpt_config(const ConfigReader& reader, GptDecoderConfig& config) {
  TRY(refuse_quantization(reader));
  if (config.head_dim == 0) {
    if (config.hidden_size % config.num_heads != 0) {
      return invalid_argument(
          reader.name() + ": the hidden size " + std::to_string(config.hidden_size) +
          " is no multiple of the number of heads " + std::to_string(config.num_heads));
    }
    config.head_dim = config.hidden_size / config.num_heads;
  }
  if (config.num_kv_heads == 0) {
    config.num_kv_heads = config.num_heads;
  }
  if (config.num_heads % config.num_kv_heads != 0) {
    return invalid_argument(reader.name() + ": the number of heads " +
                            std::to_string(config.num_heads) + " is no multiple of the " +
                            std::to_string(config.num_kv_heads) + " heads of keys and values");
  }
  config.norm.width = config.hidden_size;
  return {};
}

Result<QkvLayout> read_qkv_layout(const ConfigReader& reader, QkvLayout usual) {
  return TRY(reader.boolean("qkv_is_stacked", false)) ? QkvLayout::kStacked : usual;
}

Result<RopeConfig> read_gpt_rope(const ConfigReader& reader, std::int64_t head_dim,
                                 const char* theta, const char* fraction) {
  const Json* object = reader.find("rope_parameters");
  const Json* scaling = object != nullptr ? object : reader.find("rope_scaling");
  const Json none;
  const ConfigReader inner(object != nullptr ? *object : none, reader.name() + ": rope_parameters");
  if (scaling != nullptr) {
    if (!scaling->is_object()) {
      return reader.unexpected(object != nullptr ? "rope_parameters" : "rope_scaling", "an object");
    }
    const ConfigReader kind(*scaling, reader.name());
    const char* key = either(kind, "rope_type", "type");
    if (kind.find(key) != nullptr && TRY(kind.string(key)) != "default") {
      return unimplemented(reader.name() + ": " + key + " is " + to_json(*kind.find(key)),
                           "this model's rope is computed without scaling");
    }
  }
  RopeConfig rope;
  rope.theta = TRY(object != nullptr ? inner.positive("rope_theta") : reader.positive(theta));
  if (const auto channels = TRY(reader.optional_integer("rotary_dim", 2, head_dim))) {
    rope.rotary_dim = *channels;
    return *channels % 2 == 0 ? Result<RopeConfig>(rope)
                              : reader.unexpected("rotary_dim", "an even number of channels");
  }
  double part = 1.0;
  if (fraction != nullptr) {
    part = TRY(object != nullptr && inner.find("partial_rotary_factor") != nullptr
                   ? inner.positive("partial_rotary_factor")
                   : reader.positive(fraction));
  }
  rope.rotary_dim = static_cast<std::int64_t>(static_cast<double>(head_dim) * std::min(part, 2.0));
  if (part > 1.0 || rope.rotary_dim < 2 || rope.rotary_dim % 2 != 0) {
    return invalid_argument(reader.name() + ": of each head of " + std::to_string(head_dim) +
                            " channels the part " + std::to_string(part) +
                            " is to be rotated, which is no even number of channels");
  }
  return rope;
}

}  // namespace godwit
