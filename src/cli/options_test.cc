#include "cli/options.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

TEST(OptionsTest, LengthsTakeBothKindsOfThousand) {
  EXPECT_EQ(*parse_length("8192"), 8192);
  EXPECT_EQ(*parse_length("8k"), 8000);
  EXPECT_EQ(*parse_length("8K"), 8192);
  EXPECT_EQ(*parse_length("auto"), std::nullopt);
  EXPECT_EQ(*parse_length("-1"), std::nullopt);
  for (const char* wrong :
       {"0", "-2", "k", "8m", "8kk", "99999999999999999999", "9223372036854775807K"}) {
    EXPECT_FALSE(parse_length(wrong).ok()) << wrong;
  }
}

TEST(OptionsTest, BytesTakeSuffixes) {
  EXPECT_EQ(*parse_bytes("1000"), 1000U);
  EXPECT_EQ(*parse_bytes("4G"), std::size_t{4} << 30);
  EXPECT_EQ(*parse_bytes("512MiB"), std::size_t{512} << 20);
  EXPECT_EQ(*parse_bytes(""), std::nullopt);
  for (const char* wrong : {"0", "-1", "4T", "4.5G", "9223372036854775807G"}) {
    EXPECT_FALSE(parse_bytes(wrong).ok()) << wrong;
  }
}

TEST(OptionsTest, DtypeChoosesArithmeticAndCache) {
  ModelOptions options;
  EXPECT_EQ(make_runner_options(options)->precision, Precision::kFast);
  EXPECT_EQ(make_runner_options(options)->memory.kv_dtype, DType::kBF16);
  options.dtype = "float32";
  EXPECT_EQ(make_runner_options(options)->precision, Precision::kExact);
  EXPECT_EQ(make_runner_options(options)->memory.kv_dtype, DType::kF32);
  options.kv_cache_dtype = "bfloat16";
  EXPECT_EQ(make_runner_options(options)->memory.kv_dtype, DType::kBF16);
  options.dtype = "float16";
  EXPECT_FALSE(make_runner_options(options).ok());
}

}  // namespace
}  // namespace godwit
