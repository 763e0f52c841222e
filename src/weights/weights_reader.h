#pragma once
// Hands a model its weights, checked, and notices what is missing or left over.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "device/stream.h"
#include "tensor/tensor.h"
#include "weights/checkpoint.h"
#include "weights/packed_matrix.h"
#include "weights/weight_store.h"

namespace godwit {

/// Which element types a weight may have.
enum class WeightKind : std::uint8_t {
  kMatrix,  ///< f32, f16, bf16 and all quantised types: linear layers, embeddings.
  kVector,  ///< f32, f16, bf16: norms and biases.
  kIndex,   ///< i32, i64: tables of ids.
};

/// Reads tensors by their Hugging Face names, from safetensors or GGUF. A tensor points into the
/// mapped file where the device reads host memory and the bytes are aligned for its type; otherwise
/// it is copied to the device once.
///
/// Checkpoints of models that also see or hear keep their text model under a prefix, as in
/// "model.language_model.layers.0..." for "model.layers.0...". Names are given without it here;
/// what such a checkpoint has besides is left unread, and the log names its parts.
///
/// Threading: one thread. The checkpoint, device and stream must outlive the reader; after
/// take_store() the tensors need the store and the device alone.
class WeightsReader {
 public:
  using MatrixShape = std::array<std::int64_t, 2>;

  /// Matrices that are quantised as `quantization` says are answered to the names of their plain
  /// weights, repacked to blocks (weights/packed_matrix.h).
  WeightsReader(const Checkpoint& checkpoint, Device& device, Stream& stream,
                const Quantization& quantization = {});

  /// Errors: kNotFound when the tensor is missing; kInvalidArgument when its shape differs from
  /// `shape`; kUnimplemented when its type is none of `kind`. Each names file, tensor and fix.
  Result<Tensor> read(std::string_view name, std::initializer_list<std::int64_t> shape,
                      WeightKind kind = WeightKind::kMatrix);
  /// A matrix whose columns may have been stored in another order than the inputs come in.
  struct OrderedMatrix {
    Tensor weight;       ///< [rows, columns]
    Tensor input_order;  ///< [columns] i32: the input that each column is of; or empty.
  };
  /// Reads a matrix; read() and read_stack() refuse one with an order of its own (kUnimplemented).
  Result<OrderedMatrix> read_ordered(std::string_view name, const MatrixShape& shape);
  /// The same as read(), or nothing when the checkpoint has no such tensor.
  Result<std::optional<Tensor>> read_optional(std::string_view name,
                                              std::initializer_list<std::int64_t> shape,
                                              WeightKind kind = WeightKind::kMatrix);
  /// Reads with the rows (entries of axis 0) in another order: row i of the result is the stored
  /// row order[i]. Errors: as read(). `order` has shape[0] entries, each a row.
  Result<Tensor> read_rows(std::string_view name, std::initializer_list<std::int64_t> shape,
                           std::span<const std::int64_t> order,
                           WeightKind kind = WeightKind::kMatrix);
  /// Reads a matrix that is stored transposed, as [columns, rows]. Errors: as read(), and
  /// kUnimplemented for quantised types, whose blocks cannot be turned.
  Result<Tensor> read_transposed(std::string_view name, std::int64_t rows, std::int64_t columns);
  /// Checks that matrices are there and have one shape and type. Errors: as read(), and
  /// kInvalidArgument when types differ.
  Status check_stack(std::span<const std::string> names, const MatrixShape& shape,
                     WeightKind kind = WeightKind::kMatrix) const;
  /// Reads matrices of one shape and type into one tensor, [names.size(), rows, columns]. All are
  /// checked before memory is taken. Errors: as check_stack().
  Result<Tensor> read_stack(std::span<const std::string> names, const MatrixShape& shape,
                            WeightKind kind = WeightKind::kMatrix);
  /// Reads matrices that are stored transposed and as one, [matrices, columns, rows] (with one
  /// column: [matrices, rows]), into [matrices, rows, columns]. Where the stored rows are
  /// `interleaved` parts, those of one part come to lie together. Errors: as read_transposed().
  struct TransposedStack {
    std::int64_t matrices = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t interleaved = 1;
  };
  Result<Tensor> read_transposed_stack(std::string_view name, const TransposedStack& stack);
  [[nodiscard]] bool contains(std::string_view name) const {
    return find(name) != nullptr || parts_of(name).weight != nullptr;
  }

  /// Some checkpoints store a tied weight twice. When the checkpoint has `name`, checks that it is
  /// a copy of `original` and leaves it unread. Errors: kInvalidArgument when the two differ.
  Status skip_copy(std::string_view name, std::string_view original);

  /// Leaves unread what the file has under this prefix of its own names (that of a text model's
  /// within others goes without saying): a part that is known and not used, which the log names
  /// `part`.
  void skip_part(std::string_view prefix, std::string_view part);

  /// A new zeroed tensor of the store, for weights that a model derives from others.
  Result<Tensor> allocate(DType dtype, std::initializer_list<std::int64_t> shape) {
    return store_.allocate(device_, dtype, shape);
  }

  /// Checks that every tensor of the checkpoint was read; names that begin or end with one of
  /// `ignorable` may be left over. Names are those of the file (GGUF's own for GGUF). Waits for the
  /// copies. Errors: kInvalidArgument naming up to five left-over tensors.
  Status finish(std::span<const std::string_view> ignorable = {});

  /// Moves out what keeps the tensors alive. Call once, after finish().
  WeightStore take_store() { return std::exchange(store_, WeightStore()); }

  [[nodiscard]] const Checkpoint& checkpoint() const { return checkpoint_; }
  [[nodiscard]] Device& device() { return device_; }
  [[nodiscard]] Stream& stream() { return stream_; }

 private:
  /// Finds out whether the text model has a prefix.
  void find_prefix();
  /// A name, or the beginning of one, with the prefix.
  [[nodiscard]] std::string prefixed(std::string_view name) const;
  /// Marks the tensors of other parts as read.
  void skip_other_parts();
  /// What the checkpoint calls a tensor.
  [[nodiscard]] std::string stored_name(std::string_view name) const;
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  /// Finds and checks; does not mark as read.
  Result<const StoredTensor*> find_checked(std::string_view name,
                                           std::span<const std::int64_t> shape,
                                           WeightKind kind) const;
  [[nodiscard]] Status check(const StoredTensor& stored, std::span<const std::int64_t> shape,
                             WeightKind kind) const;
  /// Reads a stack of stored shape `shape`.
  Result<Tensor> turn(std::string_view name, std::span<const std::int64_t> shape,
                      const TransposedStack& stack);
  void mark_read(const StoredTensor& stored);
  void mark_read(const PackedMatrix& matrix);
  /// The parts of a quantised matrix; without a weight where there is none of that name.
  [[nodiscard]] PackedParts parts_of(std::string_view name) const;
  [[nodiscard]] Result<PackedMatrix> open_packed(std::string_view name,
                                                 const PackedMatrix::Shape& shape) const;
  /// The same; refuses an order of the inputs.
  [[nodiscard]] Result<PackedMatrix> open_unordered(std::string_view name,
                                                    const PackedMatrix::Shape& shape) const;
  /// Repacks all rows, `interleaved` ones so that those of a part lie together, as a matrix of `to`
  /// wants them, and marks the parts as read.
  Status pack(const PackedMatrix& matrix, const TransposedStack& stack, std::byte* to);
  /// Places a checked tensor and marks it as read.
  Result<Tensor> place(const StoredTensor& stored, std::initializer_list<std::int64_t> shape);

  const Checkpoint& checkpoint_;
  Device& device_;
  Stream& stream_;
  std::string gguf_architecture_;   // Empty for other formats.
  std::string_view body_prefix_;    // Stands for "model."; empty where nothing stands for it.
  std::string_view beside_prefix_;  // Before the names of what lies beside the body.
  WeightStore store_;
  Quantization quantization_;
  std::vector<std::uint8_t> was_read_;  // One flag a tensor of the checkpoint.
};

}  // namespace godwit
