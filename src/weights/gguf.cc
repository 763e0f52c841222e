#include "weights/gguf.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace godwit {
namespace {

template <class T>
T load(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

std::size_t integer_bytes(GgufType type) {
  switch (type) {
    case GgufType::kUint8:
    case GgufType::kInt8:
      return 1;
    case GgufType::kUint16:
    case GgufType::kInt16:
      return 2;
    case GgufType::kUint32:
    case GgufType::kInt32:
      return 4;
    case GgufType::kUint64:
    case GgufType::kInt64:
      return 8;
    default:
      return 0;
  }
}

/// The integer at `source`; nothing when the type is no integer or the value leaves 63 bits.
std::optional<std::int64_t> decode_integer(GgufType type, const std::byte* source) {
  switch (type) {
    case GgufType::kUint8:
      return load<std::uint8_t>(source);
    case GgufType::kInt8:
      return load<std::int8_t>(source);
    case GgufType::kUint16:
      return load<std::uint16_t>(source);
    case GgufType::kInt16:
      return load<std::int16_t>(source);
    case GgufType::kUint32:
      return load<std::uint32_t>(source);
    case GgufType::kInt32:
      return load<std::int32_t>(source);
    case GgufType::kInt64:
      return load<std::int64_t>(source);
    case GgufType::kUint64: {
      const auto value = load<std::uint64_t>(source);
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return std::nullopt;
      }
      return static_cast<std::int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

std::string_view type_name(GgufType type) {
  switch (type) {
    case GgufType::kFloat32:
    case GgufType::kFloat64:
      return "float";
    case GgufType::kBool:
      return "boolean";
    case GgufType::kString:
      return "string";
    case GgufType::kArray:
      return "array";
    default:
      return "integer";
  }
}

}  // namespace

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  auto mapping = std::make_shared<const MappedFile>(TRY(MappedFile::open(path)));
  GgufFile file = TRY(parse(mapping->bytes(), path.string()));
  file.mapping_ = std::move(mapping);
  return file;
}

const GgufMetadata* GgufFile::find_metadata(std::string_view key) const {
  const auto found = std::find_if(metadata_.begin(), metadata_.end(),
                                  [&](const GgufMetadata& entry) { return entry.key == key; });
  return found == metadata_.end() ? nullptr : &*found;
}

Result<const GgufMetadata*> GgufFile::require(std::string_view key) const {
  const GgufMetadata* entry = find_metadata(key);
  if (entry == nullptr) {
    return not_found(name_ + " has no metadata key " + shown_name(key),
                     "convert the model again with a current converter");
  }
  return entry;
}

Status GgufFile::wrong_type(const GgufMetadata& entry, std::string_view wanted) const {
  std::string kind(type_name(entry.type));
  if (entry.type == GgufType::kArray) {
    kind += " of " + std::string(type_name(entry.element)) + "s";
  }
  return invalid_argument(name_ + ": metadata key " + shown_name(entry.key) + " holds a value of " +
                              "kind " + kind + ", not " + std::string(wanted),
                          "convert the model again with a current converter");
}

Result<std::string_view> GgufFile::get_string(std::string_view key) const {
  const GgufMetadata* entry = TRY(require(key));
  if (entry->type != GgufType::kString) {
    return wrong_type(*entry, "a string");
  }
  return std::string_view(reinterpret_cast<const char*>(entry->value.data()), entry->value.size());
}

Result<std::int64_t> GgufFile::get_integer(std::string_view key) const {
  const GgufMetadata* entry = TRY(require(key));
  const auto value = decode_integer(entry->type, entry->value.data());
  if (!value) {
    return wrong_type(*entry, "an integer of at most 63 bits");
  }
  return *value;
}

Result<double> GgufFile::get_number(std::string_view key) const {
  const GgufMetadata* entry = TRY(require(key));
  if (entry->type == GgufType::kFloat32) {
    return double{load<float>(entry->value.data())};
  }
  if (entry->type == GgufType::kFloat64) {
    return load<double>(entry->value.data());
  }
  const auto value = decode_integer(entry->type, entry->value.data());
  if (!value) {
    return wrong_type(*entry, "a number");
  }
  return static_cast<double>(*value);
}

Result<bool> GgufFile::get_bool(std::string_view key) const {
  const GgufMetadata* entry = TRY(require(key));
  if (entry->type != GgufType::kBool) {
    return wrong_type(*entry, "a boolean");
  }
  return entry->value.front() != std::byte{0};
}

Result<const GgufMetadata*> GgufFile::require_array(std::string_view key,
                                                    std::string_view wanted) const {
  const GgufMetadata* entry = TRY(require(key));
  if (entry->type != GgufType::kArray) {
    return wrong_type(*entry, wanted);
  }
  return entry;
}

Result<std::vector<std::string_view>> GgufFile::get_strings(std::string_view key) const {
  const GgufMetadata* entry = TRY(require_array(key, "an array of strings"));
  if (entry->element != GgufType::kString) {
    return wrong_type(*entry, "an array of strings");
  }
  std::vector<std::string_view> values;
  values.reserve(entry->count);
  const std::byte* at = entry->value.data();
  for (std::uint64_t i = 0; i < entry->count; ++i) {
    const auto length = load<std::uint64_t>(at);  // Checked when the file was parsed.
    at += sizeof(std::uint64_t);
    values.emplace_back(reinterpret_cast<const char*>(at), length);
    at += length;
  }
  return values;
}

Result<std::vector<std::int64_t>> GgufFile::get_integers(std::string_view key) const {
  const GgufMetadata* entry = TRY(require_array(key, "an array of integers"));
  const std::size_t width = integer_bytes(entry->element);
  if (width == 0) {
    return wrong_type(*entry, "an array of integers");
  }
  std::vector<std::int64_t> values;
  values.reserve(entry->count);
  for (std::uint64_t i = 0; i < entry->count; ++i) {
    const auto value = decode_integer(entry->element, entry->value.data() + i * width);
    if (!value) {
      return wrong_type(*entry, "an array of integers of at most 63 bits");
    }
    values.push_back(*value);
  }
  return values;
}

Result<std::vector<bool>> GgufFile::get_bools(std::string_view key) const {
  const GgufMetadata* entry = TRY(require_array(key, "an array of booleans"));
  if (entry->element != GgufType::kBool) {
    return wrong_type(*entry, "an array of booleans");
  }
  std::vector<bool> values;
  values.reserve(entry->count);
  for (const std::byte byte : entry->value) {
    values.push_back(byte != std::byte{0});
  }
  return values;
}

Result<std::vector<float>> GgufFile::get_floats(std::string_view key) const {
  const GgufMetadata* entry = TRY(require_array(key, "an array of floats"));
  std::vector<float> values;
  values.reserve(entry->count);
  const std::byte* data = entry->value.data();
  for (std::uint64_t i = 0; i < entry->count; ++i) {
    if (entry->element == GgufType::kFloat32) {
      values.push_back(load<float>(data + i * sizeof(float)));
    } else if (entry->element == GgufType::kFloat64) {
      values.push_back(static_cast<float>(load<double>(data + i * sizeof(double))));
    } else {
      return wrong_type(*entry, "an array of floats");
    }
  }
  return values;
}

void GgufFile::add_tensors(const GgufFile& part, std::size_t index) {
  for (const StoredTensor& tensor : part.tensors()) {
    tensors_.push_back(tensor);
    tensors_.back().file = index;
  }
}

const StoredTensor* GgufFile::find(std::string_view name) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const StoredTensor& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

}  // namespace godwit
