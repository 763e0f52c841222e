#pragma once
// Matrices of quantised safetensors, which lie in several tensors, repacked to rows of blocks that
// hold their own scales (the types from I4 to F8 of tensor/dtype.h): what matrix products read. The
// repacked bytes are the stored ones and a few percent, or less. Values are unchanged.
//
// Layouts, with W [out, in] as linear layers have it:
//   fp8    X.weight e4m3fn [out, in], X.weight_scale_inv [out / rows, in / columns] rounded up
//   int8   X.weight i8 [out, in], X.weight_scale [out, 1]
//   GPTQ   X.qweight i32 [in / 8, out], X.qzeros i32 [groups, out / 8] (less 1), X.scales f16
//          [groups, out], X.g_idx i32 [in]; nibble i of a word is entry i
//   AWQ    X.qweight i32 [in, out / 8], X.qzeros i32 [groups, out / 8], X.scales f16 [groups, out];
//          entry i of a word is nibble 0, 4, 1, 5, 2, 6, 3, 7 for i = 0, 1, ...
//   MXFP4  X_blocks u8 [matrices, out, in / 32, 16], the low nibble first, X_scales u8 [matrices,
//          out, in / 32]

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "weights/checkpoint.h"
#include "weights/quantization.h"

namespace godwit {

/// The parts of one matrix, or (MXFP4) of several. Null where a scheme has no such part.
struct PackedParts {
  const StoredTensor* weight = nullptr;
  const StoredTensor* scales = nullptr;
  const StoredTensor* zeros = nullptr;
  const StoredTensor* groups = nullptr;  ///< GPTQ's g_idx, which may be absent.
};

/// Parts of `name` ("X.weight"; "X" for MXFP4) that belong to a quantised matrix; without a weight
/// where the checkpoint has none.
PackedParts find_parts(const Checkpoint& checkpoint, std::string_view name,
                       const Quantization& quantization);

/// A matrix whose parts were checked.
class PackedMatrix {
 public:
  struct Shape {
    std::int64_t matrices = 1;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
  };
  /// Checks parts that find_parts() found. Errors, all of which name file and tensor:
  /// kInvalidArgument for a missing part, a wrong shape, a scale that is not finite, groups that
  /// are out of range or uneven; kUnimplemented for a part's type and for sizes that are no
  /// multiple of a block.
  static Result<PackedMatrix> open(const Checkpoint& checkpoint, std::string_view name,
                                   const PackedParts& parts, const Quantization& quantization,
                                   const Shape& shape);

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const PackedParts& parts() const { return parts_; }
  /// Which input each column of the repacked rows is of; empty where that is its own.
  [[nodiscard]] const std::vector<std::int32_t>& input_order() const { return order_; }
  [[nodiscard]] std::size_t row_bytes() const;
  /// Repacks stored row `row`, of all matrices' rows, to row_bytes() bytes.
  void pack_row(std::int64_t row, std::span<std::byte> to) const;

 private:
  PackedMatrix() = default;

  QuantMethod method_ = QuantMethod::kNone;
  DType dtype_ = DType::kF32;
  PackedParts parts_;
  Shape shape_;
  std::int64_t group_ = 0;       ///< Inputs that share a scale.
  std::int64_t block_rows_ = 1;  ///< Rows that do.
  std::vector<std::int32_t> order_;

  friend class PackedChecks;
};

}  // namespace godwit
