#include "runner/memory_plan.h"

#include <gtest/gtest.h>

#include "runner/load_model.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

class MemoryPlanTest : public testing::Test {
 protected:
  // tiny-dense: 5 layers, 2 heads of 64 for keys and values, made for 1024 tokens. A token in bf16
  // takes 2 * 5 * 2 * 64 * 2 = 2560 bytes.
  static constexpr std::size_t kBlockBytes = 2560 * 16;

  MemoryPlanTest()
      : files_(std::move(open_model(test::test_data() / "models" / "tiny-dense")).value()) {}

  Result<MemoryPlan> plan(const MemoryPlanOptions& options, std::size_t available = 0) {
    return plan_memory(*files_.model, 1000, available, options);
  }

  ModelFiles files_;
};

TEST_F(MemoryPlanTest, GivenBytesAreUsedWhole) {
  MemoryPlanOptions options;
  options.kv_cache_bytes = 100 * kBlockBytes + 7;
  const Result<MemoryPlan> result = plan(options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->num_blocks, 100);
  EXPECT_EQ(result->kv_cache_bytes, 100 * kBlockBytes);
  EXPECT_EQ(result->max_model_len, 1024);
}

TEST_F(MemoryPlanTest, NoMoreThanAllSequencesCanFill) {
  MemoryPlanOptions options;
  options.max_num_seqs = 3;
  const Result<MemoryPlan> result = plan(options, std::size_t{1} << 40);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->num_blocks, 3 * 1024 / 16);
}

TEST_F(MemoryPlanTest, SaysWhatWouldFit) {
  MemoryPlanOptions options;
  options.kv_cache_bytes = 63 * kBlockBytes;
  const Result<MemoryPlan> result = plan(options);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find(std::to_string(64 * kBlockBytes)), std::string::npos);
  EXPECT_NE(result.status().message().find("--max-model-len 1008"), std::string::npos);
  options.max_model_len = 1008;
  EXPECT_TRUE(plan(options).ok());
}

TEST_F(MemoryPlanTest, LengthsBeyondTheModelAreRefused) {
  MemoryPlanOptions options;
  options.max_model_len = 1025;
  EXPECT_FALSE(plan(options, std::size_t{1} << 40).ok());
  options.max_model_len = 0;
  EXPECT_FALSE(plan(options, std::size_t{1} << 40).ok());
}

}  // namespace
}  // namespace godwit
