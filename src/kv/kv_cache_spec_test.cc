#include "kv/kv_cache_spec.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

TEST(KvCacheSpec, CountsBytes) {
  // Llama-3.1-8B in bfloat16: 128 KiB a token.
  const KvCacheSpec spec{
      .num_layers = 32, .num_kv_heads = 8, .head_dim = 128, .element_size = 2, .block_size = 16};
  EXPECT_EQ(spec.page_bytes(), 32U * 1024);
  EXPECT_EQ(spec.block_bytes(), 16U * 128 * 1024);
}

TEST(KvCacheSpec, RoundsBlocksUp) {
  EXPECT_EQ(blocks_for(0, 16), 0);
  EXPECT_EQ(blocks_for(1, 16), 1);
  EXPECT_EQ(blocks_for(16, 16), 1);
  EXPECT_EQ(blocks_for(17, 16), 2);
}

}  // namespace
}  // namespace godwit
