#include "kv/kv_cache_spec.h"

#include <vector>

#include <gtest/gtest.h>

namespace godwit {
namespace {

TEST(KvCacheSpec, CountsBytes) {
  // Llama-3.1-8B in bfloat16: 128 KiB a token.
  std::vector<LayerCacheSpec> layers;
  for (std::int64_t layer = 0; layer < 32; ++layer) {
    layers.push_back({.layer = layer, .num_kv_heads = 8, .key_dim = 128, .value_dim = 128});
  }
  const KvCacheSpec spec{.groups = group_layers(layers), .element_size = 2, .block_size = 16};
  ASSERT_EQ(spec.groups.size(), 1U);
  EXPECT_EQ(spec.block_bytes(spec.groups[0]), 16U * 128 * 1024);
}

TEST(KvCacheSpec, CountsALatentAndAnIndexerOnce) {
  // DeepSeek-V3.2: a latent of 512 with 64 for positions, and an indexer's key of 128.
  const LayerCacheSpec layer{.layer = 0, .num_kv_heads = 1, .key_dim = 576, .index_dim = 128};
  EXPECT_EQ(layer.width(), 704);
}

TEST(KvCacheSpec, GroupsLayersByWhatTheyKeep) {
  std::vector<LayerCacheSpec> layers;
  for (std::int64_t layer = 0; layer < 6; ++layer) {
    layers.push_back({.layer = layer,
                      .num_kv_heads = 1,
                      .key_dim = 16,
                      .value_dim = 16,
                      .retention = Retention::window(layer == 5 ? 0 : 512)});
  }
  const std::vector<CacheGroup> groups = group_layers(layers);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].retention, Retention::window(512));
  EXPECT_EQ(groups[0].layers.size(), 5U);
  EXPECT_EQ(groups[1].retention, Retention::all());
  EXPECT_EQ(groups[1].layers[0].layer, 5);
}

TEST(KvCacheSpec, RoundsBlocksUp) {
  EXPECT_EQ(blocks_for(0, 16), 0);
  EXPECT_EQ(blocks_for(1, 16), 1);
  EXPECT_EQ(blocks_for(16, 16), 1);
  EXPECT_EQ(blocks_for(17, 16), 2);
}

TEST(Retention, SaysWhatAPositionReads) {
  EXPECT_EQ(Retention::all().first_needed(1000), 0);
  EXPECT_EQ(Retention::window(0).first_needed(1000), 0);
  EXPECT_EQ(Retention::window(16).first_needed(15), 0);
  EXPECT_EQ(Retention::window(16).first_needed(16), 1);
  EXPECT_EQ(Retention::window(1).first_needed(7), 7);
  EXPECT_EQ(Retention::chunk(16).first_needed(15), 0);
  EXPECT_EQ(Retention::chunk(16).first_needed(16), 16);
  EXPECT_EQ(Retention::chunk(16).first_needed(31), 16);
}

}  // namespace
}  // namespace godwit
