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

}  // namespace
}  // namespace godwit
