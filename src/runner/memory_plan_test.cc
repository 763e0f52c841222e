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
  EXPECT_EQ(result->layout.num_slabs, 100);
  EXPECT_EQ(result->layout.bytes(), 100 * kBlockBytes);
  EXPECT_EQ(result->max_model_len, 1024);
}

TEST_F(MemoryPlanTest, NoMoreThanAllSequencesCanFill) {
  MemoryPlanOptions options;
  options.max_num_seqs = 3;
  const Result<MemoryPlan> result = plan(options, std::size_t{1} << 40);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->layout.num_slabs, 3 * 1024 / 16);
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

TEST_F(MemoryPlanTest, CountsOfSequencesAreBounded) {
  for (const std::int64_t sequences :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{65537}, std::int64_t{1} << 62}) {
    MemoryPlanOptions options;
    options.max_num_seqs = sequences;
    const Result<MemoryPlan> result = plan(options, std::size_t{1} << 40);
    ASSERT_FALSE(result.ok()) << sequences;
    EXPECT_NE(result.status().message().find("max_num_seqs"), std::string::npos);
  }
}

TEST_F(MemoryPlanTest, BlockIdsStayWithin32Bits) {
  Json config = files_.config;
  config.set("max_position_embeddings", (std::int64_t{1} << 31) - 1);
  const std::unique_ptr<Model> model = std::move(create_model(config, "config.json")).value();
  MemoryPlanOptions options;
  options.block_size = 1;
  options.kv_cache_bytes = std::size_t{1} << 62;
  const Result<MemoryPlan> result = plan_memory(*model, 0, 0, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->layout.num_slabs, (std::int64_t{1} << 31) - 1);
}

TEST_F(MemoryPlanTest, TheLargestGeometryStaysWithin64Bits) {
  Json config = files_.config;
  config.set("num_attention_heads", 65536);
  config.set("num_key_value_heads", 65536);
  config.set("head_dim", 65536);
  config.set("num_hidden_layers", 4096);
  const std::unique_ptr<Model> model = std::move(create_model(config, "config.json")).value();
  MemoryPlanOptions options;
  options.block_size = 4096;
  options.kv_dtype = DType::kF32;
  const Result<MemoryPlan> result = plan_memory(*model, 0, std::size_t{1} << 40, options);
  ASSERT_FALSE(result.ok());
  // 2 halves of 4096 layers, 65536 heads, 4096 tokens, 65536 channels and 4 bytes.
  EXPECT_NE(result.status().message().find(std::to_string(std::size_t{1} << 59)),
            std::string::npos);
}

}  // namespace
}  // namespace godwit
