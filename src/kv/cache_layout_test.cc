#include "kv/cache_layout.h"

#include <vector>

#include <gtest/gtest.h>

namespace godwit {
namespace {

/// One layer of each given width and retention, with bytes as numbers.
KvCacheSpec spec_of(const std::vector<std::pair<std::int64_t, Retention>>& layers) {
  std::vector<LayerCacheSpec> specs;
  for (const auto& [width, retention] : layers) {
    specs.push_back({.layer = static_cast<std::int64_t>(specs.size()),
                     .num_kv_heads = 1,
                     .key_dim = width,
                     .retention = retention});
  }
  return {.groups = group_layers(specs), .element_size = 1, .block_size = 16};
}

TEST(CacheLayout, OneGroupHasSlabsOfOneBlock) {
  const CacheLayout layout = make_cache_layout(spec_of({{40, Retention::all()}}), 6500);
  EXPECT_EQ(layout.unit_bytes, 640U);
  EXPECT_EQ(layout.slab_units, 1);
  EXPECT_EQ(layout.num_slabs, 10);
  EXPECT_EQ(layout.num_blocks(0), 10);
  EXPECT_EQ(layout.place(0, BlockId{7}), 7);
  EXPECT_EQ(layout.place(0, kNoBlock), -1);
}

TEST(CacheLayout, BlocksOfAllGroupsLieOnUnitsInsideTheirSlabs) {
  // Blocks of 448 and 192 bytes: units of 64. A slab of one large block would lose 64 of 448 bytes
  // to the small ones; of three, none.
  const CacheLayout layout =
      make_cache_layout(spec_of({{28, Retention::all()}, {12, Retention::window(64)}}), 14000);
  EXPECT_EQ(layout.unit_bytes, 64U);
  EXPECT_EQ(layout.slab_units, 21);
  EXPECT_EQ(layout.num_slabs, 10);
  EXPECT_EQ(layout.groups[0].blocks_per_slab, 3);
  EXPECT_EQ(layout.groups[1].blocks_per_slab, 7);
  for (std::size_t group = 0; group < 2; ++group) {
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < layout.num_blocks(group); ++i) {
      const std::int64_t place = layout.place(group, static_cast<BlockId>(i));
      const std::int64_t last = place + layout.groups[group].block_units - 1;
      EXPECT_GE(place, end);
      EXPECT_EQ(place / layout.slab_units, last / layout.slab_units);
      end = last + 1;
    }
    EXPECT_LE(end, layout.num_slabs * layout.slab_units);
  }
}

TEST(CacheLayout, LosesAtMostASixteenthOfASlab) {
  for (std::int64_t small = 4; small <= 400; small += 4) {
    const CacheLayout layout =
        make_cache_layout(spec_of({{400, Retention::all()}, {small, Retention::window(8)}}), 0);
    for (const GroupLayout& group : layout.groups) {
      const std::int64_t lost = layout.slab_units - group.blocks_per_slab * group.block_units;
      EXPECT_LE(lost * 16, layout.slab_units) << small;
    }
  }
}

TEST(CacheLayout, AWindowBoundsWhatASequenceHolds) {
  const CacheLayout layout =
      make_cache_layout(spec_of({{28, Retention::all()}, {28, Retention::window(64)}}), 1 << 20);
  EXPECT_EQ(layout.most_blocks(0, 1000, 32), 63);
  // 63 positions before a step and its 32, which may start inside a block.
  EXPECT_EQ(layout.most_blocks(1, 1000, 32), 7);
  EXPECT_EQ(layout.most_blocks(1, 40, 32), 3);
  EXPECT_EQ(layout.most_slabs(1000, 32), 70);
  BlockCounts counts;
  layout.add_growth(0, 40, 1000, 32, counts);
  EXPECT_EQ(counts, (BlockCounts{60, 4}));
  // After a prefix hit of 160 tokens only the last blocks are there.
  counts.clear();
  layout.add_growth(160, 176, 1000, 32, counts);
  EXPECT_EQ(counts, (BlockCounts{52, 2}));
  // A sequence that draws one token after the other takes no more than a page.
  counts.clear();
  layout.add_growth(1000, 1008, 1016, 512, counts);
  EXPECT_EQ(counts, (BlockCounts{1, 1}));
}

/// Qwen3-Next in bfloat16: 12 layers of attention, 36 with a convolution and a state of 32 heads.
KvCacheSpec hybrid_spec() {
  std::vector<LayerCacheSpec> layers;
  for (std::int64_t layer = 0; layer < 48; ++layer) {
    if (layer % 4 == 3) {
      layers.push_back({.layer = layer, .num_kv_heads = 2, .key_dim = 256, .value_dim = 256});
    } else {
      layers.push_back(
          {.layer = layer,
           .retention = Retention::state(),
           .state = {
               .conv_channels = 8192, .conv_inputs = 3, .heads = 32, .rows = 128, .columns = 128}});
    }
  }
  return {.groups = group_layers(layers), .element_size = 2, .block_size = 16};
}

TEST(CacheLayout, AStateIsOneBlockHoweverLongTheSequence) {
  const KvCacheSpec spec = hybrid_spec();
  ASSERT_EQ(spec.groups.size(), 2U);
  EXPECT_EQ(spec.block_bytes(spec.groups[0]), std::size_t{36} * 4 * (8192 * 3 + 32 * 128 * 128));
  EXPECT_EQ(spec.block_bytes(spec.groups[1]), std::size_t{12} * 2 * 16 * 2 * 512);
  const CacheLayout layout = make_cache_layout(spec, std::size_t{8} << 30);
  EXPECT_EQ(layout.block_size, 16);
  EXPECT_EQ(layout.most_blocks(0, 16, 16), 1);
  EXPECT_EQ(layout.most_blocks(0, 17, 16), 2);
  EXPECT_EQ(layout.most_blocks(0, 100'000, 2048), 2);
  BlockCounts counts;
  layout.add_growth(0, 0, 1000, 32, counts);
  EXPECT_EQ(counts, (BlockCounts{2, 63}));
  counts.clear();
  layout.add_growth(320, 352, 1000, 32, counts);
  EXPECT_EQ(counts, (BlockCounts{1, 41}));
}

TEST(CacheLayout, StatesAreSpacedByCost) {
  // A state of 75 MiB costs as much as the pages of 3200 tokens: as far apart as may be.
  EXPECT_EQ(make_cache_layout(hybrid_spec(), 0).groups[0].state_spacing, 1024 / 16);
  std::vector<LayerCacheSpec> layers = {
      {.layer = 0, .num_kv_heads = 8, .key_dim = 128, .value_dim = 128},
      {.layer = 1,
       .retention = Retention::state(),
       .state = {.conv_channels = 2048, .conv_inputs = 2}}};
  // A short convolution's costs next to nothing.
  const KvCacheSpec spec{.groups = group_layers(layers), .element_size = 2, .block_size = 16};
  EXPECT_EQ(make_cache_layout(spec, 0).groups[1].state_spacing, 128 / 16);
  layers[1].state = {.heads = 64, .rows = 128, .columns = 128};
  // 4 MiB beside 64 KiB a block.
  const KvCacheSpec larger{.groups = group_layers(layers), .element_size = 2, .block_size = 16};
  EXPECT_EQ(make_cache_layout(larger, 0).groups[1].state_spacing, 32);
}

}  // namespace
}  // namespace godwit
