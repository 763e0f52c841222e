// Walks a GGUF file once and checks that everything it describes lies inside it.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "weights/gguf.h"

namespace godwit {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF numbers are read as they lie");

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kMaxAlignment = 1U << 20U;
constexpr std::uint32_t kMaxDimensions = 4;
constexpr int kMaxArrayDepth = 4;
// No real model comes near; a description of few bytes takes many times as much memory.
constexpr std::uint64_t kMaxMetadata = 1'000'000;
constexpr std::uint64_t kMaxTensors = 1'000'000;
// The fewest bytes that one of each can take, by which a count is checked before it is believed.
constexpr std::uint64_t kMinMetadataBytes = 8 + 4 + 1;
constexpr std::uint64_t kMinTensorBytes = 8 + 4 + 4 + 8;
constexpr std::uint64_t kMinStringBytes = 8;
constexpr std::uint64_t kMinArrayBytes = 4 + 8;

struct StorageType {
  std::uint32_t id;
  std::string_view name;
  std::uint64_t block_elements;
  std::uint64_t block_bytes;
  std::optional<DType> dtype;
};

/// Tensor types of ggml; those without a DType can be listed and nothing else.
constexpr std::array<StorageType, 32> kStorageTypes = {{
    {0, "F32", 1, 4, DType::kF32},          {1, "F16", 1, 2, DType::kF16},
    {2, "Q4_0", 32, 18, DType::kQ4_0},      {3, "Q4_1", 32, 20, DType::kQ4_1},
    {6, "Q5_0", 32, 22, DType::kQ5_0},      {7, "Q5_1", 32, 24, DType::kQ5_1},
    {8, "Q8_0", 32, 34, DType::kQ8_0},      {10, "Q2_K", 256, 84, DType::kQ2_K},
    {11, "Q3_K", 256, 110, DType::kQ3_K},   {12, "Q4_K", 256, 144, DType::kQ4_K},
    {13, "Q5_K", 256, 176, DType::kQ5_K},   {14, "Q6_K", 256, 210, DType::kQ6_K},
    {15, "Q8_K", 256, 292, DType::kQ8_K},   {16, "IQ2_XXS", 256, 66, std::nullopt},
    {17, "IQ2_XS", 256, 74, std::nullopt},  {18, "IQ3_XXS", 256, 98, std::nullopt},
    {19, "IQ1_S", 256, 50, std::nullopt},   {20, "IQ4_NL", 32, 18, std::nullopt},
    {21, "IQ3_S", 256, 110, std::nullopt},  {22, "IQ2_S", 256, 82, std::nullopt},
    {23, "IQ4_XS", 256, 136, std::nullopt}, {24, "I8", 1, 1, std::nullopt},
    {25, "I16", 1, 2, std::nullopt},        {26, "I32", 1, 4, DType::kI32},
    {27, "I64", 1, 8, DType::kI64},         {28, "F64", 1, 8, std::nullopt},
    {29, "IQ1_M", 256, 56, std::nullopt},   {30, "BF16", 1, 2, DType::kBF16},
    {34, "TQ1_0", 256, 54, std::nullopt},   {35, "TQ2_0", 256, 66, std::nullopt},
    {39, "MXFP4", 32, 17, std::nullopt},    {40, "NVFP4", 64, 36, std::nullopt},
}};

const StorageType* find_storage_type(std::uint32_t id) {
  const auto* found = std::find_if(kStorageTypes.begin(), kStorageTypes.end(),
                                   [&](const StorageType& type) { return type.id == id; });
  return found == kStorageTypes.end() ? nullptr : found;
}

/// Bytes of one value of fixed size; 0 for strings, arrays and unknown types.
std::uint64_t fixed_bytes(GgufType type) {
  switch (type) {
    case GgufType::kUint8:
    case GgufType::kInt8:
    case GgufType::kBool:
      return 1;
    case GgufType::kUint16:
    case GgufType::kInt16:
      return 2;
    case GgufType::kUint32:
    case GgufType::kInt32:
    case GgufType::kFloat32:
      return 4;
    case GgufType::kUint64:
    case GgufType::kInt64:
    case GgufType::kFloat64:
      return 8;
    default:
      return 0;
  }
}

}  // namespace

/// One pass over the bytes of a file. `place_` names what is being read, for messages.
class GgufParser {
 public:
  GgufParser(std::span<const std::byte> bytes, std::string_view name) : bytes_(bytes) {
    file_.name_ = name;
  }

  Result<GgufFile> parse() {
    TRY(read_header());
    TRY(read_metadata());
    TRY(read_alignment());
    TRY(read_tensors());
    TRY(place_tensors());
    TRY(check_overlaps());
    return std::move(file_);
  }

 private:
  /// Where a tensor's data begin and how long they are, before the data section is known.
  struct Placement {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };

  [[nodiscard]] Status failure(std::string_view what) const {
    return invalid_argument(file_.name_ + ": " + place_ + " " + std::string(what),
                            "the file is damaged or was written wrongly; fetch it again");
  }
  [[nodiscard]] std::uint64_t remaining() const { return bytes_.size() - position_; }

  Result<std::span<const std::byte>> take(std::uint64_t count) {
    if (count > remaining()) {
      return failure("needs " + std::to_string(count) + " bytes at byte " +
                     std::to_string(position_) + ", but the file ends after " +
                     std::to_string(bytes_.size()));
    }
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }
  template <class T>
  Result<T> number() {
    const std::span<const std::byte> raw = TRY(take(sizeof(T)));
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  Result<std::string_view> string() {
    const std::uint64_t length = TRY(number<std::uint64_t>());
    const std::span<const std::byte> raw = TRY(take(length));
    return std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size());
  }
  /// Refuses a count that the rest of the file cannot hold.
  Status check_count(std::uint64_t count, std::uint64_t min_bytes, std::string_view what) {
    if (count > remaining() / min_bytes) {
      return failure("announces " + std::to_string(count) + " " + std::string(what) +
                     ", but only " + std::to_string(remaining()) + " bytes follow");
    }
    return {};
  }

  Status read_header() {
    place_ = "the header";
    if (TRY(number<std::uint32_t>()) != kMagic) {
      return invalid_argument(file_.name_ + " does not begin with GGUF",
                              "give a .gguf file or a folder with safetensors");
    }
    file_.version_ = TRY(number<std::uint32_t>());
    if (file_.version_ != 0 && (file_.version_ & 0xFFFFU) == 0) {
      return unimplemented(file_.name_ + " is a big-endian GGUF file",
                           "convert it to little endian, as most published files are");
    }
    if (file_.version_ != 2 && file_.version_ != 3) {
      return unimplemented(file_.name_ + " is of GGUF version " + std::to_string(file_.version_),
                           "versions 2 and 3 are supported; convert the model again");
    }
    tensor_count_ = TRY(number<std::uint64_t>());
    metadata_count_ = TRY(number<std::uint64_t>());
    if (metadata_count_ > kMaxMetadata || tensor_count_ > kMaxTensors) {
      return failure("announces " + std::to_string(metadata_count_) + " metadata entries and " +
                     std::to_string(tensor_count_) + " tensors, more than a million");
    }
    TRY(check_count(metadata_count_, kMinMetadataBytes, "metadata entries"));
    return check_count(tensor_count_, kMinTensorBytes, "tensors");
  }

  Status read_metadata() {
    file_.metadata_.reserve(metadata_count_);
    for (std::uint64_t i = 0; i < metadata_count_; ++i) {
      place_ = "metadata entry " + std::to_string(i);
      GgufMetadata entry;
      entry.key = TRY(string());
      place_ = "metadata key " + shown_name(entry.key);
      entry.type = GgufType{TRY(number<std::uint32_t>())};
      if (entry.type == GgufType::kArray) {
        TRY(read_array(entry));
      } else if (entry.type == GgufType::kString) {
        const std::string_view text = TRY(string());
        entry.value = std::as_bytes(std::span(text));
      } else {
        TRY(check_type(entry.type));
        entry.value = TRY(take(fixed_bytes(entry.type)));
      }
      file_.metadata_.push_back(entry);
    }
    std::vector<std::string_view> keys;
    for (const GgufMetadata& entry : file_.metadata_) {
      keys.push_back(entry.key);
    }
    return check_unique(std::move(keys), "metadata key ");
  }

  Status check_type(GgufType type) {
    if (fixed_bytes(type) == 0) {
      return failure("has the unknown type " + std::to_string(static_cast<std::uint32_t>(type)));
    }
    return {};
  }
  Status read_array(GgufMetadata& entry) {
    entry.element = GgufType{TRY(number<std::uint32_t>())};
    entry.count = TRY(number<std::uint64_t>());
    const std::size_t begin = position_;
    TRY(skip_elements(entry.element, entry.count, 1));
    entry.value = bytes_.subspan(begin, position_ - begin);
    return {};
  }
  /// Walks the elements of an array; `depth` counts the arrays around them.
  Status skip_elements(GgufType type, std::uint64_t count, int depth) {
    if (type == GgufType::kString) {
      TRY(check_count(count, kMinStringBytes, "strings"));
      for (std::uint64_t i = 0; i < count; ++i) {
        TRY(string());
      }
      return {};
    }
    if (type == GgufType::kArray) {
      if (depth >= kMaxArrayDepth) {
        return failure("nests arrays deeper than " + std::to_string(kMaxArrayDepth));
      }
      TRY(check_count(count, kMinArrayBytes, "arrays"));
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto inner = GgufType{TRY(number<std::uint32_t>())};
        const std::uint64_t inner_count = TRY(number<std::uint64_t>());
        TRY(skip_elements(inner, inner_count, depth + 1));
      }
      return {};
    }
    TRY(check_type(type));
    TRY(check_count(count, fixed_bytes(type), "elements"));
    TRY(take(count * fixed_bytes(type)));
    return {};
  }

  Status read_alignment() {
    constexpr std::string_view kKey = "general.alignment";
    alignment_ = kDefaultAlignment;
    if (!file_.contains(kKey)) {
      return {};
    }
    place_ = "metadata key 'general.alignment'";
    const std::int64_t value = TRY(file_.get_integer(kKey));
    alignment_ = static_cast<std::uint64_t>(value);
    if (value < 1 || alignment_ > kMaxAlignment || !std::has_single_bit(alignment_)) {
      return failure("is " + std::to_string(value) + ", not a power of two up to " +
                     std::to_string(kMaxAlignment));
    }
    return {};
  }

  Status read_tensors() {
    place_ = "the header";
    TRY(check_count(tensor_count_, kMinTensorBytes, "tensors"));
    file_.tensors_.reserve(tensor_count_);
    placements_.reserve(tensor_count_);
    for (std::uint64_t i = 0; i < tensor_count_; ++i) {
      place_ = "the description of tensor " + std::to_string(i);
      TRY(read_tensor());
    }
    std::vector<std::string_view> names;
    for (const StoredTensor& tensor : file_.tensors_) {
      names.emplace_back(tensor.name);
    }
    return check_unique(std::move(names), "tensor ");
  }

  Status read_tensor() {
    StoredTensor tensor;
    tensor.name = TRY(string());
    place_ = "tensor " + shown_name(tensor.name);
    const std::uint32_t rank = TRY(number<std::uint32_t>());
    if (rank > kMaxDimensions) {
      return failure("has " + std::to_string(rank) + " dimensions, more than " +
                     std::to_string(kMaxDimensions));
    }
    tensor.shape.resize(rank);
    for (std::uint32_t axis = 0; axis < rank; ++axis) {
      const std::uint64_t size = TRY(number<std::uint64_t>());
      if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return failure("has a dimension of " + std::to_string(size));
      }
      tensor.shape[rank - 1 - axis] = static_cast<std::int64_t>(size);
    }
    const std::uint32_t type_id = TRY(number<std::uint32_t>());
    Placement placement{.offset = TRY(number<std::uint64_t>())};
    const auto count = element_count(tensor.shape);
    if (!count) {
      return failure("has shape " + shape_text(tensor.shape) + ", whose product overflows");
    }
    // A type of a later ggml has an unknown size; it is refused if asked for.
    const StorageType* type = find_storage_type(type_id);
    tensor.dtype_name = type != nullptr ? type->name : "ggml type " + std::to_string(type_id);
    if (type != nullptr) {
      tensor.dtype = type->dtype;
      const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
      const std::uint64_t blocks = static_cast<std::uint64_t>(*count) / type->block_elements;
      if (static_cast<std::uint64_t>(row) % type->block_elements != 0) {
        return failure("of type " + tensor.dtype_name + " has rows of " + std::to_string(row) +
                       " elements, no multiple of " + std::to_string(type->block_elements));
      }
      if (blocks > std::numeric_limits<std::uint64_t>::max() / type->block_bytes) {
        return failure("has shape " + shape_text(tensor.shape) + ", whose size overflows");
      }
      placement.bytes = blocks * type->block_bytes;
    }
    file_.tensors_.push_back(std::move(tensor));
    placements_.push_back(placement);
    return {};
  }

  Status place_tensors() {
    const std::uint64_t padding = (alignment_ - position_ % alignment_) % alignment_;
    const auto data = bytes_.subspan(position_ + std::min(padding, remaining()));
    for (std::size_t i = 0; i < placements_.size(); ++i) {
      const Placement& at = placements_[i];
      place_ = "tensor " + shown_name(file_.tensors_[i].name);
      if (at.offset % alignment_ != 0) {
        return failure("lies at byte " + std::to_string(at.offset) +
                       " of the data, no multiple of the alignment " + std::to_string(alignment_));
      }
      if (at.offset > data.size() || at.bytes > data.size() - at.offset) {
        return failure("lies at byte " + std::to_string(at.offset) + " of the data and takes " +
                       std::to_string(at.bytes) + " bytes, but the data end after " +
                       std::to_string(data.size()));
      }
      file_.tensors_[i].data = data.subspan(at.offset, at.bytes);
    }
    return {};
  }

  Status check_overlaps() {
    std::vector<const StoredTensor*> order;
    for (const StoredTensor& tensor : file_.tensors_) {
      if (!tensor.data.empty()) {
        order.push_back(&tensor);
      }
    }
    std::sort(order.begin(), order.end(), [](const StoredTensor* left, const StoredTensor* right) {
      return left->data.data() < right->data.data();
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const std::span<const std::byte> before = order[i - 1]->data;
      if (before.data() + before.size() > order[i]->data.data()) {
        place_ = "tensor " + shown_name(order[i]->name);
        return failure("overlaps tensor " + shown_name(order[i - 1]->name));
      }
    }
    return {};
  }

  Status check_unique(std::vector<std::string_view> names, std::string_view what) {
    std::sort(names.begin(), names.end());
    const auto found = std::adjacent_find(names.begin(), names.end());
    if (found != names.end()) {
      place_ = std::string(what) + shown_name(*found);
      return failure("occurs twice");
    }
    return {};
  }

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::string place_;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t metadata_count_ = 0;
  std::uint64_t alignment_ = kDefaultAlignment;
  std::vector<Placement> placements_;
  GgufFile file_;
};

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes, std::string_view name) {
  return GgufParser(bytes, name).parse();
}

}  // namespace godwit
