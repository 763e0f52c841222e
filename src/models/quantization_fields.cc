#include "models/quantization_fields.h"

#include <array>

namespace godwit {
namespace {

constexpr const char* kUseAnother =
    "use a checkpoint in bf16, f16 or f32, in fp8 with scales of blocks, in int8 of "
    "compressed-tensors, in 4 bits of GPTQ or AWQ, in MXFP4, or a GGUF file in Q4_0 to Q8_0 or "
    "Q2_K "
    "to Q6_K";

Status lacks(const ConfigReader& reader, const std::string& what) {
  return unimplemented(reader.name() + ": " + what + ", which godwit does not compute",
                       kUseAnother);
}

/// A field that must have this value where it is there.
Status only(const ConfigReader& reader, const char* key, std::string_view value) {
  if (reader.find(key) == nullptr) {
    return {};
  }
  const std::string found = TRY(reader.string(key));
  return found == value ? Status() : lacks(reader, std::string(key) + " is '" + found + "'");
}

/// A field that must be absent, null, false or empty.
Status nothing(const ConfigReader& reader, const char* key) {
  const Json* value = reader.find(key);
  if (value == nullptr || (value->is_bool() && !value->as_bool()) ||
      (value->is_object() && value->as_object().empty()) ||
      (value->is_array() && value->as_array().empty())) {
    return {};
  }
  return lacks(reader, std::string(key) + " is set");
}

Result<Quantization> read_fp8(const ConfigReader& reader) {
  TRY(only(reader, "activation_scheme", "dynamic"));
  TRY(only(reader, "fmt", "e4m3"));
  const Json* sizes = reader.find("weight_block_size");
  if (sizes == nullptr) {
    return lacks(reader, "weight_block_size is absent (one scale a tensor)");
  }
  std::array<std::int64_t, 2> block = {};
  const bool is_pair = sizes->is_array() && sizes->as_array().size() == 2;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!is_pair || !sizes->as_array()[i].is_integer() || sizes->as_array()[i].as_double() < 1.0 ||
        sizes->as_array()[i].as_double() > 65536.0) {
      return reader.unexpected("weight_block_size", "two sizes from 1 to 65536");
    }
    block[i] = static_cast<std::int64_t>(sizes->as_array()[i].as_double());
  }
  if (block[1] % 32 != 0) {
    return lacks(
        reader, "weight_block_size has " + std::to_string(block[1]) + " inputs, no multiple of 32");
  }
  return Quantization{
      .method = QuantMethod::kFp8, .block_rows = block[0], .block_columns = block[1]};
}

/// The weights of one group of modules: int8 with a scale a channel.
Status check_int8_weights(const ConfigReader& weights) {
  if (TRY(weights.integer("num_bits", 1, 64)) != 8) {
    return lacks(weights, "num_bits is not 8");
  }
  TRY(only(weights, "type", "int"));
  TRY(only(weights, "strategy", "channel"));
  if (!TRY(weights.boolean("symmetric", true))) {
    return lacks(weights, "symmetric is false");
  }
  return nothing(weights, "actorder");
}

Result<Quantization> read_compressed_tensors(const ConfigReader& reader) {
  TRY(only(reader, "format", "int-quantized"));
  TRY(only(reader, "quantization_status", "compressed"));
  TRY(nothing(reader, "sparsity_config"));
  TRY(nothing(reader, "transform_config"));
  const Json* groups = reader.find("config_groups");
  if (groups == nullptr || !groups->is_object() || groups->as_object().empty()) {
    return reader.unexpected("config_groups", "an object that names groups of modules");
  }
  for (const auto& [name, group] : groups->as_object()) {
    const std::string path = reader.name() + ": config_groups: " + name;
    if (!group.is_object()) {
      return invalid_argument(path + " is no object");
    }
    const ConfigReader fields(group, path);
    TRY(only(fields, "format", "int-quantized"));
    const Json* weights = fields.find("weights");
    if (weights == nullptr || !weights->is_object()) {
      return fields.unexpected("weights", "an object");
    }
    TRY(check_int8_weights(ConfigReader(*weights, path + ": weights")));
  }
  return Quantization{.method = QuantMethod::kInt8};
}

/// Of GPTQ and AWQ.
Result<Quantization> read_int4(const ConfigReader& reader, QuantMethod method) {
  const std::int64_t bits = TRY(reader.integer("bits", 1, 64));
  if (bits != 4) {
    return lacks(reader, "bits is " + std::to_string(bits));
  }
  const std::int64_t size = TRY(reader.integer("group_size", -1));
  if (size == 0) {
    return reader.unexpected("group_size", "a number of inputs, or -1 for all");
  }
  if (size > 0 && size % 32 != 0) {
    return lacks(reader, "group_size is " + std::to_string(size) + ", no multiple of 32");
  }
  return Quantization{.method = method, .group_size = size < 0 ? 0 : size};
}

Result<Quantization> read_scheme(const ConfigReader& reader) {
  const std::string method = TRY(reader.string("quant_method"));
  if (method == "fp8") {
    return read_fp8(reader);
  }
  if (method == "compressed-tensors") {
    return read_compressed_tensors(reader);
  }
  if (method == "gptq") {
    TRY(only(reader, "checkpoint_format", "gptq"));
    TRY(only(reader, "pack_dtype", "int32"));
    TRY(nothing(reader, "dynamic"));
    TRY(nothing(reader, "lm_head"));
    return read_int4(reader, QuantMethod::kGptq);
  }
  if (method == "awq") {
    TRY(only(reader, "version", "gemm"));
    if (!TRY(reader.boolean("zero_point", true))) {
      return lacks(reader, "zero_point is false");
    }
    return read_int4(reader, QuantMethod::kAwq);
  }
  if (method == "mxfp4") {
    return Quantization{.method = QuantMethod::kMxfp4};
  }
  return lacks(reader, "quant_method is '" + method + "'");
}

}  // namespace

Result<Quantization> read_quantization(const ConfigReader& reader) {
  for (const char* key : {"quantization_config", "compression_config"}) {
    if (const Json* scheme = reader.find(key)) {
      if (!scheme->is_object()) {
        return reader.unexpected(key, "an object");
      }
      return read_scheme(ConfigReader(*scheme, reader.name() + ": " + key));
    }
  }
  return Quantization();
}

Status refuse_quantization(const ConfigReader& reader) {
  const Quantization quantization = TRY(read_quantization(reader));
  if (quantization.method != QuantMethod::kNone) {
    return unimplemented(reader.name() + ": quantization_config is set",
                         "godwit has this model in bf16, f16 and f32, and in GGUF files");
  }
  return {};
}

}  // namespace godwit
