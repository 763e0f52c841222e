#include "kv/block_pool.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace godwit {
namespace {

constexpr HoldReason kRequest = HoldReason::kRequest;

std::vector<BlockId> take(BlockPool& pool, int count) {
  std::vector<BlockId> ids;
  for (int i = 0; i < count; ++i) {
    ids.push_back(pool.take(kRequest));
  }
  return ids;
}

TEST(BlockPool, StartsFreeInIdOrder) {
  BlockPool pool(3);
  pool.check_invariants();
  EXPECT_EQ(pool.num_free(), 3);
  EXPECT_EQ(take(pool, 3), (std::vector{BlockId{0}, BlockId{1}, BlockId{2}}));
  EXPECT_EQ(pool.num_free(), 0);
  pool.check_invariants();
}

TEST(BlockPool, PlainBlocksAreReusedFirstAndCachedOnesLast) {
  BlockPool pool(5);
  std::vector<BlockId> ids = take(pool, 4);  // 4 stays free.
  pool.set_cached(ids[0], true);
  pool.set_cached(ids[1], true);
  const std::array reversed{ids[3], ids[2], ids[1], ids[0]};
  pool.release(reversed, kRequest);
  pool.check_invariants();
  // The end of the chain (1) goes before its start (0).
  EXPECT_EQ(take(pool, 5),
            (std::vector{BlockId{2}, BlockId{3}, BlockId{4}, BlockId{1}, BlockId{0}}));
}

TEST(BlockPool, HoldTakesAFreeBlockOutOfTheMiddle) {
  BlockPool pool(3);
  pool.hold(BlockId{1}, kRequest);
  pool.check_invariants();
  EXPECT_EQ(take(pool, 2), (std::vector{BlockId{0}, BlockId{2}}));
  pool.hold(BlockId{1}, kRequest);
  EXPECT_EQ(pool.hold_count(BlockId{1}, kRequest), 2);
  const std::array one{BlockId{1}};
  pool.release(one, kRequest);
  EXPECT_FALSE(pool.is_free(BlockId{1}));
  pool.release(one, kRequest);
  EXPECT_TRUE(pool.is_free(BlockId{1}));
  pool.check_invariants();
}

TEST(BlockPool, IsFreeOnlyWhenNoReasonIsLeft) {
  BlockPool pool(1);
  const std::array one{pool.take(kRequest)};
  pool.hold(one[0], HoldReason::kSend);
  pool.release(one, kRequest);
  EXPECT_EQ(pool.num_free(), 0);
  EXPECT_EQ(pool.hold_count(one[0], HoldReason::kSend), 1);
  pool.check_invariants();
  pool.release(one, HoldReason::kSend);
  EXPECT_EQ(pool.num_free(), 1);
  pool.check_invariants();
}

// kv.md H 2: a block named twice in one call.
TEST(BlockPoolDeathTest, RefusesABlockTwiceInOneRelease) {
  BlockPool pool(2);
  const BlockId id = pool.take(kRequest);
  pool.hold(id, kRequest);
  const std::array twice{id, id};
  EXPECT_DEATH(pool.release(twice, kRequest), "last_release");
}

TEST(BlockPoolDeathTest, RefusesAReleaseForAReasonThatDoesNotHold) {
  BlockPool pool(2);
  const std::array one{pool.take(kRequest)};
  EXPECT_DEATH(pool.release(one, HoldReason::kCopy), "hold_counts");
}

// kv.md H 3: more than there is.
TEST(BlockPoolDeathTest, RefusesToTakeFromAnEmptyPool) {
  BlockPool pool(1);
  take(pool, 1);
  EXPECT_DEATH(pool.take(kRequest), "num_free_");
}

TEST(BlockPoolDeathTest, RefusesAnUnknownBlock) {
  BlockPool pool(2);
  EXPECT_DEATH(pool.hold(BlockId{2}, kRequest), "num_blocks");
  EXPECT_DEATH(pool.hold(BlockId{-1}, kRequest), "num_blocks");
}

}  // namespace
}  // namespace godwit
