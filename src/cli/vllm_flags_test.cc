#include "cli/vllm_flags.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

using Flags = std::vector<std::string>;

TEST(VllmFlagsTest, ShortFormsAndUnderscoresBecomeOneSpelling) {
  EXPECT_EQ(normalize_flags(Flags{"serve", "my_model", "-tp", "2", "-dp=4", "--max_model_len", "8k",
                                  "--kv_cache_dtype=my_type", "-h"}),
            (Flags{"serve", "my_model", "--tensor-parallel-size", "2", "--data-parallel-size=4",
                   "--max-model-len", "8k", "--kv-cache-dtype=my_type", "-h"}));
}

TEST(VllmFlagsTest, FlagsThatGodwitLacksAreRefusedByName) {
  for (const char* flag : {"--quantization", "--enable-lora", "--kv-transfer-config={}"}) {
    const Status status = refuse_unsupported_flags(Flags{"serve", "m", flag});
    ASSERT_FALSE(status.ok()) << flag;
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
    EXPECT_NE(status.message().find(std::string(flag).substr(0, 12)), std::string::npos);
  }
  EXPECT_TRUE(refuse_unsupported_flags(Flags{"serve", "m", "--max-model-len", "10"}).ok());
}

TEST(VllmFlagsTest, MoreThanOneRankIsRefused) {
  EXPECT_TRUE(refuse_unsupported_flags(Flags{"--tensor-parallel-size", "1"}).ok());
  EXPECT_TRUE(refuse_unsupported_flags(Flags{"--data-parallel-size=1"}).ok());
  EXPECT_FALSE(refuse_unsupported_flags(Flags{"--tensor-parallel-size", "2"}).ok());
  EXPECT_FALSE(refuse_unsupported_flags(Flags{"--pipeline-parallel-size=4"}).ok());
  EXPECT_FALSE(refuse_unsupported_flags(Flags{"--data-parallel-size"}).ok());
}

}  // namespace
}  // namespace godwit
