#include "tensor/dtype.h"

#include <array>
#include <limits>

#include "base/check.h"

namespace godwit {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::int64_t block_elements;
  std::size_t block_bytes;
};

constexpr std::array<DTypeInfo, 24> kInfos = {{
    {DType::kF32, "f32", 1, 4},           {DType::kF16, "f16", 1, 2},
    {DType::kBF16, "bf16", 1, 2},         {DType::kI32, "i32", 1, 4},
    {DType::kI64, "i64", 1, 8},           {DType::kQ8_0, "q8_0", 32, 34},
    {DType::kQ4_0, "q4_0", 32, 18},       {DType::kQ4_1, "q4_1", 32, 20},
    {DType::kQ5_0, "q5_0", 32, 22},       {DType::kQ5_1, "q5_1", 32, 24},
    {DType::kQ2_K, "q2_k", 256, 84},      {DType::kQ3_K, "q3_k", 256, 110},
    {DType::kQ4_K, "q4_k", 256, 144},     {DType::kQ5_K, "q5_k", 256, 176},
    {DType::kQ6_K, "q6_k", 256, 210},     {DType::kQ8_K, "q8_k", 256, 292},
    {DType::kI4_32, "i4_32", 32, 20},     {DType::kI4_64, "i4_64", 64, 36},
    {DType::kI4_128, "i4_128", 128, 68},  {DType::kI8_32, "i8_32", 32, 36},
    {DType::kI8_128, "i8_128", 128, 132}, {DType::kMxfp4, "mxfp4", 32, 17},
    {DType::kF8_32, "f8_32", 32, 36},     {DType::kF8_128, "f8_128", 128, 132},
}};

const DTypeInfo& info(DType dtype) {
  const DTypeInfo& row = kInfos[static_cast<std::size_t>(dtype)];
  DCHECK(row.dtype == dtype);
  return row;
}

}  // namespace

std::string_view to_string(DType dtype) {
  return info(dtype).name;
}
std::int64_t block_elements(DType dtype) {
  return info(dtype).block_elements;
}
std::size_t block_bytes(DType dtype) {
  return info(dtype).block_bytes;
}
bool is_quantized(DType dtype) {
  return block_elements(dtype) > 1;
}
bool has_integer_codes(DType dtype) {
  return is_quantized(dtype) && dtype != DType::kF8_32 && dtype != DType::kF8_128;
}

std::optional<std::size_t> storage_bytes(DType dtype, std::int64_t count) {
  const DTypeInfo& row = info(dtype);
  if (count < 0 || count % row.block_elements != 0) {
    return std::nullopt;
  }
  const auto blocks = static_cast<std::size_t>(count / row.block_elements);
  if (blocks > std::numeric_limits<std::size_t>::max() / row.block_bytes) {
    return std::nullopt;
  }
  return blocks * row.block_bytes;
}

}  // namespace godwit
