#include "kv/block_pool.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace godwit {
namespace {

constexpr HoldReason kRequest = HoldReason::kRequest;

BlockPool make_pool(std::int64_t num_blocks) {
  return BlockPool(CacheLayout::single(num_blocks, 16));
}

/// Slabs of one block of group 0 or three of group 1, which is one unit too small to fill them.
BlockPool make_pool_of_two_groups(std::int64_t num_slabs) {
  return BlockPool({.block_size = 16,
                    .unit_bytes = 1,
                    .slab_units = 10,
                    .num_slabs = num_slabs,
                    .groups = {{.retention = {}, .block_units = 10, .blocks_per_slab = 1},
                               {.retention = {}, .block_units = 3, .blocks_per_slab = 3}}});
}

BlockId take_one(BlockPool& pool, std::size_t group = 0) {
  std::vector<BlockRef> evicted;
  return pool.take(group, kRequest, evicted);
}

std::vector<BlockId> take(BlockPool& pool, int count, std::size_t group = 0) {
  std::vector<BlockId> ids;
  for (int i = 0; i < count; ++i) {
    ids.push_back(take_one(pool, group));
  }
  return ids;
}

bool can_take(const BlockPool& pool, std::int64_t first, std::int64_t second) {
  return pool.can_take(std::array{first, second});
}

TEST(BlockPool, StartsFreeInIdOrder) {
  BlockPool pool = make_pool(3);
  pool.check_invariants();
  EXPECT_EQ(pool.free_units(), 3);
  EXPECT_EQ(take(pool, 3), (std::vector{BlockId{0}, BlockId{1}, BlockId{2}}));
  EXPECT_EQ(pool.free_units(), 0);
  pool.check_invariants();
}

TEST(BlockPool, PlainBlocksAreReusedFirstAndCachedOnesLast) {
  BlockPool pool = make_pool(5);
  std::vector<BlockId> ids = take(pool, 4);  // 4 stays free.
  pool.set_cached({0, ids[0]}, true);
  pool.set_cached({0, ids[1]}, true);
  const std::array reversed{ids[3], ids[2], ids[1], ids[0]};
  pool.release(0, reversed, kRequest);
  pool.check_invariants();
  // The end of the chain (1) goes before its start (0).
  EXPECT_EQ(take(pool, 5),
            (std::vector{BlockId{2}, BlockId{3}, BlockId{4}, BlockId{1}, BlockId{0}}));
}

TEST(BlockPool, HoldTakesAFreeBlockOutOfTheMiddle) {
  BlockPool pool = make_pool(3);
  const std::vector<BlockId> all = take(pool, 3);
  pool.release(0, all, kRequest);
  pool.hold({0, BlockId{1}}, kRequest);
  pool.check_invariants();
  EXPECT_EQ(take(pool, 2), (std::vector{BlockId{2}, BlockId{0}}));
  pool.hold({0, BlockId{1}}, kRequest);
  EXPECT_EQ(pool.hold_count({0, BlockId{1}}, kRequest), 2);
  const std::array one{BlockId{1}};
  pool.release(0, one, kRequest);
  EXPECT_FALSE(pool.is_free({0, BlockId{1}}));
  pool.release(0, one, kRequest);
  EXPECT_TRUE(pool.is_free({0, BlockId{1}}));
  pool.check_invariants();
}

TEST(BlockPool, IsFreeOnlyWhenNoReasonIsLeft) {
  BlockPool pool = make_pool(1);
  const std::array one{take_one(pool)};
  pool.hold({0, one[0]}, HoldReason::kSend);
  pool.release(0, one, kRequest);
  EXPECT_EQ(pool.free_units(), 0);
  EXPECT_EQ(pool.hold_count({0, one[0]}, HoldReason::kSend), 1);
  pool.check_invariants();
  pool.release(0, one, HoldReason::kSend);
  EXPECT_EQ(pool.free_units(), 1);
  pool.check_invariants();
}

// kv.md H 2: a block named twice in one call.
TEST(BlockPoolDeathTest, RefusesABlockTwiceInOneRelease) {
  BlockPool pool = make_pool(2);
  const BlockId id = take_one(pool);
  pool.hold({0, id}, kRequest);
  const std::array twice{id, id};
  EXPECT_DEATH(pool.release(0, twice, kRequest), "last_release");
}

TEST(BlockPoolDeathTest, RefusesAReleaseForAReasonThatDoesNotHold) {
  BlockPool pool = make_pool(2);
  const std::array one{take_one(pool)};
  EXPECT_DEATH(pool.release(0, one, HoldReason::kCopy), "hold_counts");
}

// kv.md H 3: more than there is.
TEST(BlockPoolDeathTest, RefusesToTakeFromAnEmptyPool) {
  BlockPool pool = make_pool(1);
  take(pool, 1);
  EXPECT_DEATH(take_one(pool), "free_slabs_");
}

TEST(BlockPoolDeathTest, RefusesAnUnknownBlock) {
  BlockPool pool = make_pool(2);
  EXPECT_DEATH(pool.hold({0, BlockId{2}}, kRequest), "num_blocks");
  EXPECT_DEATH(pool.hold({0, BlockId{-1}}, kRequest), "num_blocks");
}

// A slab goes from group to group, but not while one of its blocks is held.
TEST(BlockPool, GroupsShareOneBudget) {
  BlockPool pool = make_pool_of_two_groups(2);
  EXPECT_EQ(pool.free_units(), 20);
  const std::vector<BlockId> small = take(pool, 2, 1);
  EXPECT_EQ(small, (std::vector{BlockId{0}, BlockId{1}}));
  EXPECT_EQ(pool.free_units(), 13);
  pool.check_invariants();
  EXPECT_TRUE(can_take(pool, 1, 1));
  EXPECT_FALSE(can_take(pool, 1, 2));
  EXPECT_TRUE(can_take(pool, 0, 4));
  EXPECT_FALSE(can_take(pool, 0, 5));
  EXPECT_FALSE(can_take(pool, 2, 0));
  const BlockId large = take_one(pool, 0);
  EXPECT_EQ(large, BlockId{1});
  EXPECT_EQ(pool.layout().place(0, large), 10);
  pool.release(1, small, kRequest);
  pool.check_invariants();
  EXPECT_TRUE(can_take(pool, 1, 0));
  EXPECT_EQ(take_one(pool, 0), BlockId{0});
  EXPECT_EQ(pool.free_units(), 0);
  pool.check_invariants();
}

TEST(BlockPool, ASlabLosesWhatIsCachedInItWhenAnotherGroupTakesIt) {
  BlockPool pool = make_pool_of_two_groups(2);
  const std::vector<BlockId> small = take(pool, 3, 1);
  pool.set_cached({1, small[0]}, true);
  pool.set_cached({1, small[2]}, true);
  const BlockId large = take_one(pool, 0);
  pool.set_cached({0, large}, true);
  pool.release(1, small, kRequest);
  pool.release(0, std::array{large}, kRequest);
  // The small ones have been free for longer.
  std::vector<BlockRef> evicted;
  EXPECT_EQ(pool.take(0, kRequest, evicted), BlockId{0});
  EXPECT_EQ(evicted, (std::vector<BlockRef>{{1, small[0]}, {1, small[2]}}));
  EXPECT_FALSE(pool.is_cached({1, small[0]}));
  EXPECT_TRUE(pool.is_cached({0, large}));
  pool.check_invariants();
}

// Blocks of slabs that are kept anyway come first, so that one sequence never spreads over more
// slabs than it fills.
TEST(BlockPool, FillsHeldSlabsBeforeItTakesFreeOnes) {
  BlockPool pool = make_pool_of_two_groups(3);
  const std::vector<BlockId> small = take(pool, 6, 1);
  for (const BlockId id : small) {
    pool.set_cached({1, id}, true);
  }
  pool.release(1, std::array{small[3], small[4], small[1]}, kRequest);
  EXPECT_EQ(take(pool, 3, 1), (std::vector{small[3], small[4], small[1]}));
  EXPECT_TRUE(can_take(pool, 1, 0));
  pool.check_invariants();
}

TEST(BlockPool, KeptBlocksAreNotAmongThoseToTake) {
  BlockPool pool = make_pool_of_two_groups(2);
  const std::vector<BlockId> small = take(pool, 3, 1);
  pool.release(1, small, kRequest);
  const std::array<std::int64_t, 2> needed{1, 2};
  const std::array<std::int64_t, 2> one_more{1, 3};
  const std::array kept{BlockRef{1, small[0]}};
  EXPECT_TRUE(pool.can_take(needed, kept));
  EXPECT_FALSE(pool.can_take(one_more, kept));
  EXPECT_FALSE(pool.can_take(std::array<std::int64_t, 2>{2, 0}, kept));
  pool.hold(kept[0], kRequest);
  EXPECT_TRUE(pool.can_take(needed));
  EXPECT_FALSE(pool.can_take(one_more));
  pool.check_invariants();
}

}  // namespace
}  // namespace godwit
