#include "weights/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"

namespace godwit {
namespace {

constexpr std::size_t kLengthBytes = 8;
/// The limit of the format's reference implementation.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kMaxRank = 64;
/// Room for 200,000 tensors; a header of many tiny values would take gigabytes of memory.
constexpr std::size_t kMaxHeaderValues = 2'000'000;

struct SafetensorsType {
  std::string_view name;
  std::uint64_t bits;
  std::optional<DType> dtype;
};

/// Element types of the format; those without a DType can be listed and nothing else.
constexpr std::array<SafetensorsType, 22> kTypes = {{
    {"F32", 32, DType::kF32},         {"F16", 16, DType::kF16},
    {"BF16", 16, DType::kBF16},       {"I32", 32, DType::kI32},
    {"I64", 64, DType::kI64},         {"BOOL", 8, std::nullopt},
    {"U8", 8, std::nullopt},          {"I8", 8, std::nullopt},
    {"U16", 16, std::nullopt},        {"I16", 16, std::nullopt},
    {"U32", 32, std::nullopt},        {"U64", 64, std::nullopt},
    {"F64", 64, std::nullopt},        {"C64", 64, std::nullopt},
    {"F8_E4M3", 8, std::nullopt},     {"F8_E5M2", 8, std::nullopt},
    {"F8_E8M0", 8, std::nullopt},     {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt}, {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},     {"F4", 4, std::nullopt},
}};

const SafetensorsType* find_type(std::string_view name) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const SafetensorsType& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : found;
}

/// Bytes of `count` elements of `bits` each; nothing when that is no whole number of bytes or too
/// many.
std::optional<std::uint64_t> type_bytes(std::uint64_t bits, std::int64_t count) {
  const auto elements = static_cast<std::uint64_t>(count);
  if (elements > std::numeric_limits<std::uint64_t>::max() / bits || elements * bits % 8 != 0) {
    return std::nullopt;
  }
  return elements * bits / 8;
}

/// Reads the members of one header and turns each into a tensor.
class HeaderReader {
 public:
  HeaderReader(std::string_view file, std::span<const std::byte> data) : file_(file), data_(data) {}

  Status read(const JsonObject& header) {
    tensors_.reserve(header.size());
    for (const auto& [name, value] : header) {
      if (name == "__metadata__") {
        TRY(check_metadata(value));
      } else {
        tensors_.push_back(TRY(read_tensor(name, value)));
      }
    }
    return check_layout();
  }
  std::vector<StoredTensor> take() { return std::move(tensors_); }

 private:
  [[nodiscard]] Status failure(std::string_view tensor, std::string_view what) const {
    return invalid_argument(file_ + ": tensor " + shown_name(tensor) + " " + std::string(what),
                            "the file is damaged or was written wrongly; fetch it again");
  }

  [[nodiscard]] Status check_metadata(const Json& value) const {
    const auto is_text = [](const JsonMember& member) { return member.second.is_string(); };
    if (!value.is_object() ||
        !std::all_of(value.as_object().begin(), value.as_object().end(), is_text)) {
      return invalid_argument(file_ + ": __metadata__ is not an object of strings",
                              "the file was written wrongly; fetch it again");
    }
    return {};
  }

  [[nodiscard]] Result<std::vector<std::int64_t>> read_shape(std::string_view name,
                                                             const Json& value) const {
    const Json* list = value.find("shape");
    if (list == nullptr || !list->is_array()) {
      return failure(name, "has no shape");
    }
    if (list->as_array().size() > kMaxRank) {
      return failure(name, "has " + std::to_string(list->as_array().size()) +
                               " dimensions, more than " + std::to_string(kMaxRank));
    }
    std::vector<std::int64_t> shape;
    for (const Json& item : list->as_array()) {
      const auto size = item.to_int64();
      if (!size || *size < 0) {
        return failure(name, "has a dimension that is no count: " + shown_name(to_json(item)));
      }
      shape.push_back(*size);
    }
    return shape;
  }

  [[nodiscard]] Result<std::span<const std::byte>> read_data(std::string_view name,
                                                             const Json& value) const {
    const Json* offsets = value.find("data_offsets");
    if (offsets == nullptr || !offsets->is_array() || offsets->as_array().size() != 2) {
      return failure(name, "has no data_offsets of two numbers");
    }
    const auto begin = offsets->as_array()[0].to_uint64();
    const auto end = offsets->as_array()[1].to_uint64();
    if (!begin || !end || *begin > *end) {
      return failure(name,
                     "has data_offsets " + shown_name(to_json(*offsets)) + ", which is no range");
    }
    if (*end > data_.size()) {
      return failure(name, "lies at bytes " + to_json(*offsets) + " of the data, which ends at " +
                               std::to_string(data_.size()));
    }
    return data_.subspan(*begin, *end - *begin);
  }

  [[nodiscard]] Result<StoredTensor> read_tensor(std::string_view name, const Json& value) const {
    const Json* dtype = value.find("dtype");
    if (dtype == nullptr || !dtype->is_string()) {
      return failure(name, "has no dtype");
    }
    StoredTensor tensor;
    tensor.name = name;
    tensor.dtype_name = dtype->as_string();
    tensor.shape = TRY(read_shape(name, value));
    tensor.data = TRY(read_data(name, value));
    const auto count = element_count(tensor.shape);
    if (!count) {
      return failure(name, "has shape " + shape_text(tensor.shape) + ", whose product overflows");
    }
    // A type of a later version of the format has an unknown size; it is refused if asked for.
    const SafetensorsType* type = find_type(tensor.dtype_name);
    if (type == nullptr) {
      return tensor;
    }
    tensor.dtype = type->dtype;
    const auto bytes = type_bytes(type->bits, *count);
    if (!bytes || *bytes != tensor.data.size()) {
      return failure(name, "holds " + std::to_string(tensor.data.size()) + " bytes, but " +
                               tensor.dtype_name + shape_text(tensor.shape) + " takes " +
                               (bytes ? std::to_string(*bytes) : "no whole number of bytes"));
    }
    return tensor;
  }

  /// The format demands that tensors cover the data without holes and overlaps.
  Status check_layout() {
    const auto offset = [&](const StoredTensor& tensor) {
      return static_cast<std::size_t>(tensor.data.data() - data_.data());
    };
    std::sort(tensors_.begin(), tensors_.end(),
              [&](const StoredTensor& left, const StoredTensor& right) {
                return std::pair(offset(left), left.data.size()) <
                       std::pair(offset(right), right.data.size());
              });
    std::size_t covered = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const std::size_t begin = offset(tensors_[i]);
      if (begin < covered) {
        return failure(tensors_[i].name, "overlaps tensor " + shown_name(tensors_[i - 1].name));
      }
      if (begin > covered) {
        return failure(tensors_[i].name, "begins at byte " + std::to_string(begin) +
                                             " of the data and leaves a hole after byte " +
                                             std::to_string(covered));
      }
      covered = begin + tensors_[i].data.size();
    }
    if (covered != data_.size()) {
      return invalid_argument(file_ + ": the tensors end at byte " + std::to_string(covered) +
                                  " of the data, which has " + std::to_string(data_.size()),
                              "the file is damaged or was written wrongly; fetch it again");
    }
    return {};
  }

  std::string file_;
  std::span<const std::byte> data_;
  std::vector<StoredTensor> tensors_;
};

std::uint64_t read_length(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  }
  return length;
}

}  // namespace

Result<std::vector<StoredTensor>> parse_safetensors(std::span<const std::byte> bytes,
                                                    std::string_view name) {
  const std::string file(name);
  if (bytes.size() < kLengthBytes) {
    return invalid_argument(
        file + " has " + std::to_string(bytes.size()) + " bytes, too few for a safetensors file",
        "fetch the file again; a Git LFS pointer is no model");
  }
  const std::uint64_t length = read_length(bytes);
  const std::size_t rest = bytes.size() - kLengthBytes;
  if (length > kMaxHeaderBytes || length > rest) {
    return invalid_argument(
        file + " gives its header " + std::to_string(length) + " bytes, but " +
            (length > rest ? "only " + std::to_string(rest) + " follow"
                           : "at most " + std::to_string(kMaxHeaderBytes) + " are allowed"),
        "the file is cut short or is no safetensors file; fetch it again");
  }
  const auto header_bytes = bytes.subspan(kLengthBytes, length);
  const std::string_view text(reinterpret_cast<const char*>(header_bytes.data()), length);
  JsonParseOptions options;
  options.max_depth = 4;
  options.max_values = kMaxHeaderValues;
  options.unique_keys = true;
  const Json header = TRY(parse_json(text, "the header of " + file, options));
  if (!header.is_object()) {
    return invalid_argument("the header of " + file + " is no JSON object",
                            "the file is no safetensors file; fetch it again");
  }
  HeaderReader reader(name, bytes.subspan(kLengthBytes + length));
  TRY(reader.read(header.as_object()));
  return reader.take();
}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  auto mapping = std::make_shared<const MappedFile>(TRY(MappedFile::open(path)));
  std::vector<StoredTensor> tensors = TRY(parse_safetensors(mapping->bytes(), path.string()));
  return SafetensorsFile(std::move(mapping), std::move(tensors));
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const StoredTensor& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

}  // namespace godwit
