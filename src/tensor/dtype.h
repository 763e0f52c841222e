#pragma once
// Element types of tensors, the block-quantised types of GGUF files included, and those that
// quantised safetensors are repacked to.

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
  kQ5_0,  ///< Blocks of 32: f16 d, 4 bytes of fifth bits, nibbles. Value = d * (q - 16).
  kQ5_1,  ///< Blocks of 32: f16 d, f16 m, 4 bytes of fifth bits, nibbles. Value = d * q + m.
  kQ2_K,  ///< Blocks of 256: 4-bit scales and minima of 16, 2-bit q. Value = d s q - e m.
  kQ3_K,  ///< Blocks of 256: 6-bit scales of 16, 3-bit q. Value = d (s - 32) (q - 4).
  kQ4_K,  ///< Blocks of 256: 6-bit scales and minima of 32, 4-bit q. Value = d s q - e m.
  kQ5_K,  ///< As Q4_K with 5-bit q.
  kQ6_K,  ///< Blocks of 256: signed 8-bit scales of 16, 6-bit q. Value = d s (q - 32).
  kQ8_K,  ///< Blocks of 256: f32 scale d, 256 x i8 q, 16 sums of q. Value = d * q.
  // Repacked at load (weights/packed_matrix.h); each in the block sizes that its name ends with.
  kI4_32,  ///< f16 scale d, u8 zero point z, one unused byte, nibbles. Value = d * (q - z).
  kI4_64,
  kI4_128,
  kI8_32,  ///< f32 scale d, i8 q. Value = d * q.
  kI8_128,
  kMxfp4,  ///< Blocks of 32: u8 exponent e, 16 bytes of nibbles. Value = E2M1(q) * 2^(e - 127).
  kF8_32,  ///< f32 scale d, e4m3fn codes q. Value = d * E4M3(q).
  kF8_128,
};
// In the types Q4_0 to Q5_1, and in each 32 elements of I4 and Mxfp4, the low nibbles of bytes
// 0..15 are elements 0..15, the high ones 16..31. Where the bits of the others lie:
// kernels/ref/super_blocks.h.

/// Name as printed, for example "bf16" or "q4_1".
std::string_view to_string(DType dtype);

/// Elements stored together: 1 for plain types, 32 or 256 for the quantised ones.
std::int64_t block_elements(DType dtype);

/// Bytes of one such block.
std::size_t block_bytes(DType dtype);

/// Whether elements can only be addressed by whole blocks.
bool is_quantized(DType dtype);

/// Whether a block is integers times scales, which fast matrix products multiply as integers. Not
/// so the plain types and F8.
bool has_integer_codes(DType dtype);

/// Bytes of `count` elements, or nothing when count is negative, is no multiple of the block, or
/// the product overflows.
std::optional<std::size_t> storage_bytes(DType dtype, std::int64_t count);

}  // namespace godwit
