#include "weights/packed_matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace godwit {
namespace {

template <class T>
T load(const StoredTensor& stored, std::int64_t index) {
  T value;
  std::memcpy(&value, stored.data.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

/// Whether the exponent of a float of 16 bits is all ones: infinite or not a number.
bool is_finite(const StoredTensor& scales, std::int64_t index) {
  switch (*scales.dtype) {
    case DType::kF32:
      return std::isfinite(load<float>(scales, index));
    case DType::kF16:
      return (load<std::uint16_t>(scales, index) & 0x7C00) != 0x7C00;
    default:
      return (load<std::uint16_t>(scales, index) & 0x7F80) != 0x7F80;
  }
}

/// A scale of f32 or bf16.
float scale_at(const StoredTensor& scales, std::int64_t index) {
  if (scales.dtype == DType::kF32) {
    return load<float>(scales, index);
  }
  return std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(scales, index)) << 16);
}

/// Which nibble of an AWQ word holds entry i.
constexpr int kAwqNibble[8] = {0, 4, 1, 5, 2, 6, 3, 7};

int nibble(const StoredTensor& words, std::int64_t word, int place) {
  return static_cast<int>(load<std::uint32_t>(words, word) >> (4 * place) & 15U);
}

/// Writes the code of element i where each 16 bytes hold 32 elements.
void put_nibble(std::byte* codes, std::int64_t i, int code) {
  std::byte& byte = codes[i / 32 * 16 + i % 16];
  byte = i % 32 < 16 ? static_cast<std::byte>(code) : byte | static_cast<std::byte>(code << 4);
}

std::int64_t blocks_of(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

}  // namespace

PackedParts find_parts(const Checkpoint& checkpoint, std::string_view name,
                       const Quantization& quantization) {
  constexpr std::string_view kWeight = ".weight";
  const auto part = [&](std::string_view stem, const char* suffix) {
    return checkpoint.find(std::string(stem) + suffix);
  };
  if (quantization.method == QuantMethod::kMxfp4) {
    return {.weight = part(name, "_blocks"), .scales = part(name, "_scales")};
  }
  if (quantization.method == QuantMethod::kNone || !name.ends_with(kWeight)) {
    return {};
  }
  const std::string_view stem = name.substr(0, name.size() - kWeight.size());
  if (quantization.method == QuantMethod::kFp8 || quantization.method == QuantMethod::kInt8) {
    const bool is_fp8 = quantization.method == QuantMethod::kFp8;
    PackedParts parts = {.weight = checkpoint.find(name),
                         .scales = part(stem, is_fp8 ? ".weight_scale_inv" : ".weight_scale")};
    if (parts.weight != nullptr && parts.weight->dtype_name != (is_fp8 ? "F8_E4M3" : "I8")) {
      return {};
    }
    return parts;
  }
  const bool is_gptq = quantization.method == QuantMethod::kGptq;
  return {.weight = part(stem, ".qweight"),
          .scales = part(stem, ".scales"),
          .zeros = part(stem, ".qzeros"),
          .groups = is_gptq ? part(stem, ".g_idx") : nullptr};
}

/// What PackedMatrix::open() checks, scheme by scheme.
class PackedChecks {
 public:
  PackedChecks(const Checkpoint& checkpoint, std::string_view name,
               const Quantization& quantization, PackedMatrix& matrix)
      : checkpoint_(checkpoint), name_(name), quantization_(quantization), matrix_(matrix) {}

  Status run() {
    switch (quantization_.method) {
      case QuantMethod::kFp8:
        return check_fp8();
      case QuantMethod::kInt8:
        return check_int8();
      case QuantMethod::kGptq:
      case QuantMethod::kAwq:
        return check_int4();
      case QuantMethod::kMxfp4:
        return check_mxfp4();
      case QuantMethod::kNone:
        break;
    }
    CHECK(false);
  }

 private:
  using Shape = std::initializer_list<std::int64_t>;

  [[nodiscard]] std::string described(const StoredTensor& stored) const {
    return checkpoint_.file_of(stored) + ": tensor " + shown_name(stored.name);
  }

  Status part(const StoredTensor* stored, const char* what,
              std::initializer_list<std::string_view> types, Shape shape) const {
    if (stored == nullptr) {
      return invalid_argument(
          checkpoint_.path().string() + " has no " + what + " of " + shown_name(name_),
          "check that the checkpoint is complete and that its quantization_config belongs to it");
    }
    if (std::find(types.begin(), types.end(), stored->dtype_name) == types.end()) {
      std::string names;
      for (const std::string_view type : types) {
        names += names.empty() ? "" : ", ";
        names += type;
      }
      return unimplemented(described(*stored) + " is stored as " + stored->dtype_name,
                           "use a checkpoint that stores it as one of: " + names);
    }
    if (!std::equal(shape.begin(), shape.end(), stored->shape.begin(), stored->shape.end())) {
      return invalid_argument(described(*stored) + " has shape " + shape_text(stored->shape) +
                                  ", but the config asks for " +
                                  shape_text({shape.begin(), shape.size()}),
                              "check that the config belongs to these weights");
    }
    return {};
  }

  Status finite_scales() const {
    const StoredTensor& scales = *matrix_.parts_.scales;
    const std::int64_t count = element_count(scales.shape).value_or(0);
    for (std::int64_t i = 0; i < count; ++i) {
      if (scales.dtype_name == "U8" ? scales.data[static_cast<std::size_t>(i)] == std::byte{255}
                                    : !is_finite(scales, i)) {
        return invalid_argument(
            described(scales) + " holds a scale that is not finite at place " + std::to_string(i),
            "the file is damaged or was written wrongly; fetch it again");
      }
    }
    return {};
  }

  /// Rows of `columns` inputs hold whole blocks of `block`, or this is an error.
  [[nodiscard]] Status whole(std::int64_t block) const {
    const std::int64_t columns = matrix_.shape_.columns;
    if (columns % block == 0) {
      return {};
    }
    return unimplemented(shown_name(name_) + " has " + std::to_string(columns) +
                             " inputs, which is no multiple of " + std::to_string(block),
                         "use an unquantised checkpoint of this model");
  }

  Status check_fp8() {
    const auto& shape = matrix_.shape_;
    TRY(part(matrix_.parts_.weight, "weight", {"F8_E4M3"}, {shape.rows, shape.columns}));
    TRY(part(matrix_.parts_.scales, "weight_scale_inv", {"F32", "BF16"},
             {blocks_of(shape.rows, quantization_.block_rows),
              blocks_of(shape.columns, quantization_.block_columns)}));
    TRY(whole(32));
    matrix_.block_rows_ = quantization_.block_rows;
    matrix_.group_ = quantization_.block_columns;
    const bool wide = shape.columns % 128 == 0 && matrix_.group_ % 128 == 0;
    matrix_.dtype_ = wide ? DType::kF8_128 : DType::kF8_32;
    return finite_scales();
  }

  Status check_int8() {
    const auto& shape = matrix_.shape_;
    TRY(part(matrix_.parts_.weight, "weight", {"I8"}, {shape.rows, shape.columns}));
    TRY(part(matrix_.parts_.scales, "weight_scale", {"F32", "BF16"}, {shape.rows, 1}));
    TRY(whole(32));
    matrix_.group_ = shape.columns;
    matrix_.dtype_ = shape.columns % 128 == 0 ? DType::kI8_128 : DType::kI8_32;
    return finite_scales();
  }

  Status check_int4() {
    const auto& shape = matrix_.shape_;
    const bool is_gptq = quantization_.method == QuantMethod::kGptq;
    const std::int64_t group =
        quantization_.group_size == 0 ? shape.columns : quantization_.group_size;
    TRY(whole(group));
    TRY(whole(32));
    if (shape.rows % 8 != 0) {
      return unimplemented(shown_name(name_) + " has " + std::to_string(shape.rows) +
                               " outputs, which is no multiple of 8",
                           "use an unquantised checkpoint of this model");
    }
    const std::int64_t groups = shape.columns / group;
    TRY(is_gptq ? part(matrix_.parts_.weight, "qweight", {"I32"}, {shape.columns / 8, shape.rows})
                : part(matrix_.parts_.weight, "qweight", {"I32"}, {shape.columns, shape.rows / 8}));
    TRY(part(matrix_.parts_.zeros, "qzeros", {"I32"}, {groups, shape.rows / 8}));
    TRY(part(matrix_.parts_.scales, "scales", {"F16"}, {groups, shape.rows}));
    matrix_.group_ = group;
    matrix_.dtype_ = group % 128 == 0  ? DType::kI4_128
                     : group % 64 == 0 ? DType::kI4_64
                                       : DType::kI4_32;
    if (matrix_.parts_.groups != nullptr) {
      TRY(part(matrix_.parts_.groups, "g_idx", {"I32"}, {shape.columns}));
      TRY(order_inputs(groups));
    }
    return finite_scales();
  }

  /// Puts the inputs of a group side by side.
  Status order_inputs(std::int64_t groups) {
    const StoredTensor& index = *matrix_.parts_.groups;
    const std::int64_t columns = matrix_.shape_.columns;
    std::vector<std::int64_t> found(static_cast<std::size_t>(groups), 0);
    std::vector<std::int32_t> order(static_cast<std::size_t>(columns));
    bool in_order = true;
    for (std::int64_t i = 0; i < columns; ++i) {
      const auto g = static_cast<std::int64_t>(load<std::int32_t>(index, i));
      if (g < 0 || g >= groups || found[static_cast<std::size_t>(g)] == matrix_.group_) {
        return invalid_argument(described(index) + " puts input " + std::to_string(i) +
                                    " in group " + std::to_string(g) + ", but there are " +
                                    std::to_string(groups) + " groups of " +
                                    std::to_string(matrix_.group_) + " inputs",
                                "the file is damaged or was written wrongly; fetch it again");
      }
      const std::int64_t place = g * matrix_.group_ + found[static_cast<std::size_t>(g)]++;
      order[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(i);
      in_order = in_order && place == i;
    }
    if (!in_order) {
      matrix_.order_ = std::move(order);
    }
    return {};
  }

  Status check_mxfp4() {
    const auto& shape = matrix_.shape_;
    TRY(whole(32));
    TRY(part(matrix_.parts_.weight, "blocks", {"U8"},
             {shape.matrices, shape.rows, shape.columns / 32, 16}));
    TRY(part(matrix_.parts_.scales, "scales", {"U8"},
             {shape.matrices, shape.rows, shape.columns / 32}));
    matrix_.group_ = 32;
    matrix_.dtype_ = DType::kMxfp4;
    return finite_scales();
  }

  const Checkpoint& checkpoint_;
  std::string_view name_;
  const Quantization& quantization_;
  PackedMatrix& matrix_;
};

Result<PackedMatrix> PackedMatrix::open(const Checkpoint& checkpoint, std::string_view name,
                                        const PackedParts& parts, const Quantization& quantization,
                                        const Shape& shape) {
  PackedMatrix matrix;
  matrix.method_ = quantization.method;
  matrix.parts_ = parts;
  matrix.shape_ = shape;
  TRY(PackedChecks(checkpoint, name, quantization, matrix).run());
  return matrix;
}

std::size_t PackedMatrix::row_bytes() const {
  return storage_bytes(dtype_, shape_.columns).value();
}

void PackedMatrix::pack_row(std::int64_t row, std::span<std::byte> to) const {
  const std::int64_t columns = shape_.columns;
  const std::int64_t size = block_elements(dtype_);
  const auto bytes = static_cast<std::int64_t>(block_bytes(dtype_));
  const StoredTensor& weight = *parts_.weight;
  for (std::int64_t b = 0; b < columns / size; ++b) {
    std::byte* block = to.data() + b * bytes;
    const std::int64_t group = b * size / group_;
    if (method_ == QuantMethod::kFp8 || method_ == QuantMethod::kInt8) {
      const std::int64_t groups = blocks_of(columns, group_);
      const float scale = scale_at(*parts_.scales, row / block_rows_ * groups + group);
      std::memcpy(block, &scale, sizeof(scale));
      std::memcpy(block + sizeof(scale), weight.data.data() + row * columns + b * size,
                  static_cast<std::size_t>(size));
      continue;
    }
    if (method_ == QuantMethod::kMxfp4) {
      const std::int64_t place = row * (columns / 32) + b;
      block[0] = parts_.scales->data[static_cast<std::size_t>(place)];
      for (std::int64_t i = 0; i < 32; ++i) {
        const auto pair =
            std::to_integer<int>(weight.data[static_cast<std::size_t>(place * 16 + i / 2)]);
        put_nibble(block + 1, i, i % 2 == 0 ? pair & 15 : pair >> 4);
      }
      continue;
    }
    const bool is_gptq = method_ == QuantMethod::kGptq;
    const auto within = static_cast<int>(row % 8);
    const std::int64_t words = shape_.rows / 8;
    const int zero =
        nibble(*parts_.zeros, group * words + row / 8, is_gptq ? within : kAwqNibble[within]);
    std::memcpy(block, parts_.scales->data.data() + (group * shape_.rows + row) * 2, 2);
    block[2] = static_cast<std::byte>(is_gptq ? zero + 1 : zero);
    block[3] = std::byte{0};
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t column = b * size + i;
      const std::int64_t input = order_.empty() ? column : order_[static_cast<std::size_t>(column)];
      const int code =
          is_gptq ? nibble(weight, input / 8 * shape_.rows + row, static_cast<int>(input % 8))
                  : nibble(weight, input * words + row / 8, kAwqNibble[within]);
      put_nibble(block + 4, i, code);
    }
  }
}

}  // namespace godwit
