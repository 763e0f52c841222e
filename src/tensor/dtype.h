#pragma once
// Element types of tensors, the block-quantised types of GGUF files included.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace godwit {

enum class DType : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kI32,
  kI64,
  kQ8_0,  ///< Blocks of 32: f16 scale d, 32 x i8 q. Value = d * q.
  kQ4_0,  ///< Blocks of 32: f16 scale d, 16 bytes of nibbles. Value = d * (q - 8).
  kQ4_1,  ///< Blocks of 32: f16 scale d, f16 minimum m, 16 bytes of nibbles. Value = d * q + m.
};
// In the 4-bit types the low nibbles of bytes 0..15 are elements 0..15, the high ones 16..31.

/// Name as printed, for example "bf16" or "q4_1".
std::string_view to_string(DType dtype);

/// Elements stored together: 1 for plain types, 32 for the quantised ones.
std::int64_t block_elements(DType dtype);

/// Bytes of one such block.
std::size_t block_bytes(DType dtype);

/// Whether elements can only be addressed by whole blocks.
bool is_quantized(DType dtype);

/// Bytes of `count` elements, or nothing when count is negative, is no multiple of the block, or
/// the product overflows.
std::optional<std::size_t> storage_bytes(DType dtype, std::int64_t count);

}  // namespace godwit
