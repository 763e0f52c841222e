#pragma once
// How a checkpoint's config says that its linear layers are quantised.

#include <cstdint>

namespace godwit {

enum class QuantMethod : std::uint8_t {
  kNone,
  kFp8,    ///< e4m3fn codes, a scale for each rectangle of a matrix.
  kInt8,   ///< Signed bytes, a scale a row.
  kGptq,   ///< 4 bits, a scale and a zero point a group of inputs, in any order of the inputs.
  kAwq,    ///< 4 bits, a scale and a zero point a group of consecutive inputs.
  kMxfp4,  ///< E2M1 codes, an exponent for 32 inputs; experts only.
};

/// Which modules are quantised shows in the names and types of their tensors: the others' are
/// plain.
struct Quantization {
  QuantMethod method = QuantMethod::kNone;
  std::int64_t group_size = 0;     ///< Of GPTQ and AWQ; 0 = all inputs are one group.
  std::int64_t block_rows = 0;     ///< Of fp8, as the next one.
  std::int64_t block_columns = 0;  ///< A multiple of 32.
};

}  // namespace godwit
