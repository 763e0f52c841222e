#include "weights/weights_reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>

#include "base/check.h"
#include "base/log.h"
#include "weights/name_map.h"

namespace godwit {
namespace {

/// What the names of a model's tensors begin with, but for its head's.
constexpr std::string_view kBody = "model.";

constexpr std::array<DType, 14> kMatrixTypes = {
    DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ8_0, DType::kQ4_0,
    DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ2_K, DType::kQ3_K,
    DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kQ8_K};
constexpr std::array<DType, 3> kVectorTypes = {DType::kF32, DType::kF16, DType::kBF16};
constexpr std::array<DType, 2> kIndexTypes = {DType::kI32, DType::kI64};

std::span<const DType> allowed_types(WeightKind kind) {
  switch (kind) {
    case WeightKind::kMatrix:
      return kMatrixTypes;
    case WeightKind::kVector:
      return kVectorTypes;
    case WeightKind::kIndex:
      return kIndexTypes;
  }
  return {};
}

/// The alignment that kernels need to load one element or one block's scale.
std::size_t required_alignment(DType dtype) {
  return is_quantized(dtype) ? 2 : block_bytes(dtype);
}

bool is_aligned(const StoredTensor& stored) {
  return reinterpret_cast<std::uintptr_t>(stored.data.data()) % required_alignment(*stored.dtype) ==
         0;
}

/// Turns one matrix of a stack, of elements of `size` bytes, in squares, so that neither side is
/// walked a cache line an element.
void transpose(std::span<const std::byte> stored, std::size_t size,
               const WeightsReader::TransposedStack& stack, std::span<std::byte> turned) {
  constexpr std::size_t kSquare = 32;
  const auto height = static_cast<std::size_t>(stack.rows);
  const auto width = static_cast<std::size_t>(stack.columns);
  const auto parts = static_cast<std::size_t>(stack.interleaved);
  for (std::size_t r0 = 0; r0 < height; r0 += kSquare) {
    for (std::size_t c0 = 0; c0 < width; c0 += kSquare) {
      for (std::size_t r = r0; r < std::min(r0 + kSquare, height); ++r) {
        const std::size_t row = r % parts * (height / parts) + r / parts;
        for (std::size_t c = c0; c < std::min(c0 + kSquare, width); ++c) {
          std::memcpy(turned.data() + (row * width + c) * size,
                      stored.data() + (c * height + r) * size, size);
        }
      }
    }
  }
}

/// File and tensor, for messages.
std::string described(const Checkpoint& checkpoint, const StoredTensor& stored) {
  return checkpoint.file_of(stored) + ": tensor " + shown_name(stored.name);
}

}  // namespace

WeightsReader::WeightsReader(const Checkpoint& checkpoint, Device& device, Stream& stream,
                             const Quantization& quantization)
    : checkpoint_(checkpoint),
      device_(device),
      stream_(stream),
      store_(device.reads_host_memory() ? checkpoint.mappings()
                                        : std::vector<std::shared_ptr<const MappedFile>>()),
      quantization_(quantization),
      was_read_(checkpoint.tensors().size(), 0) {
  if (checkpoint.gguf() != nullptr) {
    const auto architecture = checkpoint.gguf()->get_string("general.architecture");
    gguf_architecture_ = architecture.ok() ? *architecture : std::string_view();
  } else {
    find_prefix();
  }
}

void WeightsReader::find_prefix() {
  struct Row {
    std::string_view body;
    std::string_view beside;
  };
  constexpr std::array<Row, 2> kRows = {
      {{"model.language_model.", ""}, {"language_model.model.", "language_model."}}};
  for (const Row& row : kRows) {
    const auto is_within = [&](const StoredTensor& stored) {
      return std::string_view(stored.name).starts_with(row.body);
    };
    if (std::ranges::any_of(checkpoint_.tensors(), is_within)) {
      body_prefix_ = row.body;
      beside_prefix_ = row.beside;
      return;
    }
  }
}

std::string WeightsReader::prefixed(std::string_view name) const {
  if (body_prefix_.empty()) {
    return std::string(name);
  }
  if (name.starts_with(kBody)) {
    return std::string(body_prefix_) + std::string(name.substr(kBody.size()));
  }
  return std::string(beside_prefix_) + std::string(name);
}

void WeightsReader::skip_other_parts() {
  if (body_prefix_.empty()) {
    return;
  }
  const std::string head = std::string(beside_prefix_) + "lm_head.";
  std::map<std::string_view, std::int64_t> parts;
  for (const StoredTensor& stored : checkpoint_.tensors()) {
    const std::string_view name = stored.name;
    if (name.starts_with(body_prefix_) || name.starts_with(head)) {
      continue;
    }
    mark_read(stored);
    // Up to the first dot: what lies within "model." is of several parts.
    const std::size_t from = name.starts_with(kBody) ? kBody.size() : 0;
    ++parts[name.substr(0, name.find('.', from))];
  }
  for (const auto& [part, count] : parts) {
    log::info("{} tensors of {} are not used: they are no part of the text model", count,
              shown_name(part));
  }
}

std::string WeightsReader::stored_name(std::string_view name) const {
  return checkpoint_.gguf() != nullptr ? gguf_tensor_name(name, gguf_architecture_)
                                       : prefixed(name);
}

const StoredTensor* WeightsReader::find(std::string_view name) const {
  return checkpoint_.find(stored_name(name));
}

Result<const StoredTensor*> WeightsReader::find_checked(std::string_view name,
                                                        std::span<const std::int64_t> shape,
                                                        WeightKind kind) const {
  const StoredTensor* stored = find(name);
  if (stored == nullptr) {
    return not_found(
        checkpoint_.path().string() + " holds no tensor " + shown_name(stored_name(name)),
        "check that the checkpoint is complete and that its config belongs to these weights");
  }
  TRY(check(*stored, shape, kind));
  return stored;
}

Result<Tensor> WeightsReader::read(std::string_view name, std::initializer_list<std::int64_t> shape,
                                   WeightKind kind) {
  if (kind == WeightKind::kMatrix && shape.size() == 2 && parts_of(name).weight != nullptr) {
    const std::int64_t rows = *shape.begin();
    const std::int64_t columns = *(shape.begin() + 1);
    const PackedMatrix matrix = TRY(open_unordered(name, {.rows = rows, .columns = columns}));
    const Tensor tensor = TRY(store_.allocate(device_, matrix.dtype(), shape));
    TRY(pack(matrix, {.matrices = 1, .rows = rows}, static_cast<std::byte*>(tensor.data)));
    return tensor;
  }
  const StoredTensor* stored = TRY(find_checked(name, {shape.begin(), shape.size()}, kind));
  return place(*stored, shape);
}

PackedParts WeightsReader::parts_of(std::string_view name) const {
  return find_parts(checkpoint_, name, quantization_);
}

Result<PackedMatrix> WeightsReader::open_packed(std::string_view name,
                                                const PackedMatrix::Shape& shape) const {
  return PackedMatrix::open(checkpoint_, name, parts_of(name), quantization_, shape);
}

Result<PackedMatrix> WeightsReader::open_unordered(std::string_view name,
                                                   const PackedMatrix::Shape& shape) const {
  PackedMatrix matrix = TRY(open_packed(name, shape));
  if (!matrix.input_order().empty()) {
    return unimplemented(described(checkpoint_, *matrix.parts().groups) +
                             " gives this matrix an order of its inputs, which only plain linear "
                             "layers have",
                         "use a checkpoint that was quantised without desc_act");
  }
  return matrix;
}

Result<WeightsReader::OrderedMatrix> WeightsReader::read_ordered(std::string_view name,
                                                                 const MatrixShape& shape) {
  if (parts_of(name).weight == nullptr) {
    return OrderedMatrix{.weight = TRY(read(name, {shape[0], shape[1]})), .input_order = {}};
  }
  const PackedMatrix matrix = TRY(open_packed(name, {.rows = shape[0], .columns = shape[1]}));
  OrderedMatrix read = {
      .weight = TRY(store_.allocate(device_, matrix.dtype(), {shape[0], shape[1]})),
      .input_order = {}};
  TRY(pack(matrix, {.matrices = 1, .rows = shape[0]}, static_cast<std::byte*>(read.weight.data)));
  if (!matrix.input_order().empty()) {
    read.input_order = TRY(store_.allocate(device_, DType::kI32, {shape[1]}));
    TRY(stream_.copy_in(read.input_order.data, std::as_bytes(std::span(matrix.input_order()))));
    TRY(stream_.synchronize());
  }
  return read;
}

Status WeightsReader::pack(const PackedMatrix& matrix, const TransposedStack& stack,
                           std::byte* to) {
  constexpr std::int64_t kRowsTogether = 64;
  const std::size_t bytes = matrix.row_bytes();
  std::vector<std::byte> packed(bytes * kRowsTogether);
  const std::int64_t part_rows = stack.rows / stack.interleaved;
  for (std::int64_t first = 0; first < stack.matrices * stack.rows; first += kRowsTogether) {
    const std::int64_t count = std::min(kRowsTogether, stack.matrices * stack.rows - first);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = (first + i) % stack.rows;
      const std::int64_t stored = row % part_rows * stack.interleaved + row / part_rows;
      matrix.pack_row(first + i - row + stored,
                      std::span(packed).subspan(static_cast<std::size_t>(i) * bytes, bytes));
    }
    TRY(stream_.copy_in(to + static_cast<std::size_t>(first) * bytes,
                        std::span(packed).first(static_cast<std::size_t>(count) * bytes)));
    TRY(stream_.synchronize());
  }
  mark_read(matrix);
  return {};
}

void WeightsReader::mark_read(const PackedMatrix& matrix) {
  const PackedParts& parts = matrix.parts();
  for (const StoredTensor* part : {parts.weight, parts.scales, parts.zeros, parts.groups}) {
    if (part != nullptr) {
      mark_read(*part);
    }
  }
}

Result<Tensor> WeightsReader::read_rows(std::string_view name,
                                        std::initializer_list<std::int64_t> shape,
                                        std::span<const std::int64_t> order, WeightKind kind) {
  const StoredTensor* stored = TRY(find_checked(name, {shape.begin(), shape.size()}, kind));
  CHECK_EQ(static_cast<std::int64_t>(order.size()), *shape.begin());
  const std::size_t row_bytes = order.empty() ? 0 : stored->data.size() / order.size();
  std::vector<std::byte> rows(stored->data.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto row = static_cast<std::size_t>(order[i]);
    CHECK_LT(row, order.size());
    std::memcpy(rows.data() + i * row_bytes, stored->data.data() + row * row_bytes, row_bytes);
  }
  const Tensor tensor = TRY(store_.allocate(device_, *stored->dtype, shape));
  TRY(stream_.copy_in(tensor.data, rows));
  mark_read(*stored);
  return tensor;
}

Result<Tensor> WeightsReader::read_transposed(std::string_view name, std::int64_t rows,
                                              std::int64_t columns) {
  const Tensor stack =
      TRY(turn(name, std::array{columns, rows}, {.matrices = 1, .rows = rows, .columns = columns}));
  return stack.entry(0);
}

Result<Tensor> WeightsReader::read_transposed_stack(std::string_view name,
                                                    const TransposedStack& stack) {
  if (quantization_.method == QuantMethod::kMxfp4 && parts_of(name).weight != nullptr) {
    const PackedMatrix matrix = TRY(open_unordered(
        name, {.matrices = stack.matrices, .rows = stack.rows, .columns = stack.columns}));
    const Tensor tensor =
        TRY(store_.allocate(device_, matrix.dtype(), {stack.matrices, stack.rows, stack.columns}));
    TRY(pack(matrix, stack, static_cast<std::byte*>(tensor.data)));
    return tensor;
  }
  if (stack.columns == 1) {
    return turn(name, std::array{stack.matrices, stack.rows}, stack);
  }
  return turn(name, std::array{stack.matrices, stack.columns, stack.rows}, stack);
}

Result<Tensor> WeightsReader::turn(std::string_view name, std::span<const std::int64_t> shape,
                                   const TransposedStack& stack) {
  const StoredTensor* stored = TRY(find_checked(name, shape, WeightKind::kMatrix));
  if (is_quantized(*stored->dtype)) {
    return unimplemented(
        described(checkpoint_, *stored) + " is stored transposed and as " + stored->dtype_name,
        "use a checkpoint that stores it in bf16, f16 or f32");
  }
  const Tensor tensor =
      TRY(store_.allocate(device_, *stored->dtype, {stack.matrices, stack.rows, stack.columns}));
  const auto count = static_cast<std::size_t>(stack.matrices);
  const std::size_t bytes = count == 0 ? 0 : stored->data.size() / count;
  std::vector<std::byte> turned(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    transpose(stored->data.subspan(i * bytes, bytes), block_bytes(*stored->dtype), stack, turned);
    TRY(stream_.copy_in(static_cast<std::byte*>(tensor.data) + i * bytes, turned));
    TRY(stream_.synchronize());
  }
  release_pages(stored->data);
  mark_read(*stored);
  return tensor;
}

Status WeightsReader::check_stack(std::span<const std::string> names, const MatrixShape& shape,
                                  WeightKind kind) const {
  const StoredTensor* first = nullptr;
  CHECK(!names.empty());
  const bool is_packed = parts_of(names.front()).weight != nullptr;
  for (const std::string& name : names) {
    if (is_packed) {
      TRY(open_unordered(name, {.rows = shape[0], .columns = shape[1]}));
      continue;
    }
    const StoredTensor* stored = TRY(find_checked(name, shape, kind));
    first = first == nullptr ? stored : first;
    if (stored->dtype != first->dtype) {
      return invalid_argument(described(checkpoint_, *stored) + " is stored as " +
                                  stored->dtype_name + ", but " + shown_name(first->name) + " as " +
                                  first->dtype_name,
                              "use a checkpoint that stores all experts of a layer alike");
    }
  }
  return {};
}

Result<Tensor> WeightsReader::read_stack(std::span<const std::string> names,
                                         const MatrixShape& shape, WeightKind kind) {
  TRY(check_stack(names, shape, kind));
  if (parts_of(names.front()).weight != nullptr) {
    Tensor packed;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const PackedMatrix matrix =
          TRY(open_packed(names[i], {.rows = shape[0], .columns = shape[1]}));
      if (i == 0) {
        packed =
            TRY(store_.allocate(device_, matrix.dtype(), {std::ssize(names), shape[0], shape[1]}));
      }
      TRY(pack(matrix, {.matrices = 1, .rows = shape[0]},
               static_cast<std::byte*>(packed.entry(static_cast<std::int64_t>(i)).data)));
    }
    return packed;
  }
  const StoredTensor* first = find(names.front());
  const Tensor tensor =
      TRY(store_.allocate(device_, *first->dtype, {std::ssize(names), shape[0], shape[1]}));
  auto* to = static_cast<std::byte*>(tensor.data);
  for (const std::string& name : names) {
    const StoredTensor* stored = find(name);
    TRY(stream_.copy_in(to, stored->data));
    TRY(stream_.synchronize());
    release_pages(stored->data);
    to += stored->data.size();
    mark_read(*stored);
  }
  return tensor;
}

Result<std::optional<Tensor>> WeightsReader::read_optional(
    std::string_view name, std::initializer_list<std::int64_t> shape, WeightKind kind) {
  if (!contains(name)) {
    return std::optional<Tensor>();
  }
  return std::optional<Tensor>(TRY(read(name, shape, kind)));
}

Status WeightsReader::check(const StoredTensor& stored, std::span<const std::int64_t> shape,
                            WeightKind kind) const {
  const std::span<const DType> allowed = allowed_types(kind);
  if (!stored.dtype || std::find(allowed.begin(), allowed.end(), *stored.dtype) == allowed.end()) {
    std::string names;
    for (const DType dtype : allowed) {
      names += names.empty() ? "" : ", ";
      names += to_string(dtype);
    }
    return unimplemented(described(checkpoint_, stored) + " is stored as " + stored.dtype_name,
                         "use a checkpoint that stores it as one of: " + names);
  }
  if (!std::equal(shape.begin(), shape.end(), stored.shape.begin(), stored.shape.end())) {
    return invalid_argument(described(checkpoint_, stored) + " has shape " +
                                shape_text(stored.shape) + ", but the config asks for " +
                                shape_text(shape),
                            "check that the config belongs to these weights");
  }
  return {};
}

Status WeightsReader::skip_copy(std::string_view name, std::string_view original) {
  const StoredTensor* copy = find(name);
  const StoredTensor* stored = find(original);
  if (copy == nullptr || stored == nullptr) {
    return {};
  }
  if (copy->dtype_name != stored->dtype_name || copy->shape != stored->shape ||
      !std::ranges::equal(copy->data, stored->data)) {
    return invalid_argument(described(checkpoint_, *copy) + " differs from " +
                                shown_name(stored->name) + ", but the config says they are tied",
                            "set tie_word_embeddings to false if both are meant");
  }
  mark_read(*copy);
  return {};
}

void WeightsReader::skip_part(std::string_view prefix, std::string_view part) {
  const std::string here = prefixed(prefix);
  std::int64_t count = 0;
  for (const StoredTensor& stored : checkpoint_.tensors()) {
    if (stored.name.starts_with(here)) {
      mark_read(stored);
      ++count;
    }
  }
  if (count > 0) {
    log::info("{} tensors of {} ({}*) are not used", count, part, here);
  }
}

void WeightsReader::mark_read(const StoredTensor& stored) {
  was_read_[static_cast<std::size_t>(&stored - checkpoint_.tensors().data())] = 1;
}

Result<Tensor> WeightsReader::place(const StoredTensor& stored,
                                    std::initializer_list<std::int64_t> shape) {
  mark_read(stored);
  if (device_.reads_host_memory() && is_aligned(stored)) {
    // Kernels take void*; the mapping is read-only, so that a write to a weight faults.
    auto* data = const_cast<std::byte*>(stored.data.data());  // NOLINT(*-const-cast)
    return Tensor::contiguous(data, *stored.dtype, shape);
  }
  const Tensor tensor = TRY(store_.allocate(device_, *stored.dtype, shape));
  TRY(stream_.copy_in(tensor.data, stored.data));
  return tensor;
}

Status WeightsReader::finish(std::span<const std::string_view> ignorable) {
  constexpr std::size_t kShown = 5;
  TRY(stream_.synchronize());
  skip_other_parts();
  std::string names;
  const StoredTensor* first = nullptr;
  std::size_t left = 0;
  for (std::size_t i = 0; i < was_read_.size(); ++i) {
    const StoredTensor& stored = checkpoint_.tensors()[i];
    const std::string_view name = stored.name;
    const bool accepted =
        was_read_[i] != 0 ||
        std::any_of(ignorable.begin(), ignorable.end(), [&](std::string_view part) {
          return name.starts_with(part) || name.ends_with(part);
        });
    if (accepted) {
      continue;
    }
    first = first == nullptr ? &stored : first;
    if (++left <= kShown) {
      names += names.empty() ? "" : ", ";
      names += shown_name(name);
    }
  }
  if (left == 0) {
    return {};
  }
  if (left > kShown) {
    names += " and " + std::to_string(left - kShown) + " more";
  }
  return invalid_argument(
      checkpoint_.file_of(*first) + " holds tensors that the model does not use: " + names,
      "check that the config belongs to these weights");
}

}  // namespace godwit
