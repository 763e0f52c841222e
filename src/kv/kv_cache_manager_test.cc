#include "kv/kv_cache_manager.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace godwit {
namespace {

KvCacheManager make_cache(std::int64_t num_blocks, bool caching = true) {
  return KvCacheManager({.layout = CacheLayout::single(num_blocks, 4),
                         .enable_prefix_caching = caching,
                         .fingerprint = "model"});
}

std::vector<TokenId> count_up(std::int64_t length, TokenId first = 0) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(length));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::size_t added_blocks(KvCacheManager& cache, BlockTable& table, std::int64_t num_tokens) {
  return cache.allocate_slots(table, {}, num_tokens)->at(0).size();
}

/// A sequence that computed all its tokens and ended.
void run_through(KvCacheManager& cache, const std::vector<TokenId>& tokens, std::string salt = {}) {
  BlockTable table(std::move(salt));
  const auto length = static_cast<std::int64_t>(tokens.size());
  ASSERT_TRUE(cache.allocate_slots(table, cache.find_prefix(table, tokens), length));
  cache.settle(table, tokens, length);
  cache.free(table);
  cache.check_invariants();
}

TEST(KvCacheManager, GivesBlocksAsTheSequenceGrows) {
  KvCacheManager cache = make_cache(3);
  BlockTable table;
  EXPECT_EQ(added_blocks(cache, table, 4), 1U);
  EXPECT_EQ(added_blocks(cache, table, 4), 0U);
  EXPECT_EQ(added_blocks(cache, table, 9), 2U);
  EXPECT_EQ(table.num_blocks(), 3);
  EXPECT_EQ(cache.stats().num_free_units, 0);
  EXPECT_DOUBLE_EQ(cache.stats().usage(), 1.0);
  // The blocks it has are still enough for this.
  EXPECT_EQ(added_blocks(cache, table, 12), 0U);
  EXPECT_EQ(cache.allocate_slots(table, {}, 13), std::nullopt);
  EXPECT_EQ(table.num_blocks(), 3);
  cache.free(table);
  EXPECT_EQ(cache.stats().num_free_units, 3);
  cache.check_invariants();
}

TEST(KvCacheManager, KeepsSpareBlocksFree) {
  KvCacheManager cache = make_cache(3);
  BlockTable table;
  EXPECT_EQ(cache.allocate_slots(table, {}, 5, {2}), std::nullopt);
  EXPECT_EQ(table.num_blocks(), 0);
  EXPECT_TRUE(cache.allocate_slots(table, {}, 5, {1}));
  cache.free(table);
}

TEST(KvCacheManager, FindsFullBlocksButNeverTheLastToken) {
  KvCacheManager cache = make_cache(8);
  run_through(cache, count_up(10));
  BlockTable table;
  EXPECT_EQ(cache.find_prefix(table, count_up(4)).num_tokens, 0);
  EXPECT_EQ(cache.find_prefix(table, count_up(5)).num_tokens, 4);
  BlockTable longer;
  EXPECT_EQ(cache.find_prefix(longer, count_up(8)).num_tokens, 4);
  EXPECT_EQ(cache.find_prefix(longer, count_up(9)).num_tokens, 8);
  EXPECT_EQ(cache.find_prefix(longer, count_up(20)).num_tokens, 8);
  BlockTable other;
  EXPECT_EQ(cache.find_prefix(other, count_up(9, 1)).num_tokens, 0);
}

TEST(KvCacheManager, SharesABlockAmongItsHolders) {
  KvCacheManager cache = make_cache(4);
  const std::vector<TokenId> tokens = count_up(5);
  run_through(cache, tokens);
  BlockTable first;
  BlockTable second;
  ASSERT_TRUE(cache.allocate_slots(first, cache.find_prefix(first, tokens), 5));
  ASSERT_TRUE(cache.allocate_slots(second, cache.find_prefix(second, tokens), 5));
  EXPECT_EQ(first.blocks()[0][0], second.blocks()[0][0]);
  EXPECT_NE(first.blocks()[0][1], second.blocks()[0][1]);
  cache.free(first);
  EXPECT_FALSE(cache.pool().is_free({0, second.blocks()[0][0]}));
  cache.free(second);
  EXPECT_EQ(cache.stats().num_free_units, 4);
  cache.check_invariants();
}

TEST(KvCacheManager, KeepsDuplicatesOfWhatWasComputedTwice) {
  KvCacheManager cache = make_cache(4);
  const std::vector<TokenId> tokens = count_up(4);
  BlockTable first;
  BlockTable second;
  ASSERT_TRUE(cache.allocate_slots(first, {}, 4));
  ASSERT_TRUE(cache.allocate_slots(second, {}, 4));
  cache.settle(first, tokens, 4);
  cache.settle(second, tokens, 4);
  EXPECT_EQ(cache.stats().num_cached_blocks, 2);
  cache.check_invariants();
  cache.free(first);
  cache.free(second);
}

TEST(KvCacheManager, EvictsTheEndOfAPrefixBeforeItsStart) {
  KvCacheManager cache = make_cache(3);
  const std::vector<TokenId> tokens = count_up(13);
  run_through(cache, count_up(12));
  BlockTable newcomer;
  ASSERT_TRUE(cache.allocate_slots(newcomer, {}, 1));
  EXPECT_EQ(cache.stats().evictions, 1);
  BlockTable table;
  EXPECT_EQ(cache.find_prefix(table, tokens).num_tokens, 8);
  cache.free(newcomer);
  cache.check_invariants();
}

// kv.md H 1: taking new blocks must not evict the blocks that were just found.
TEST(KvCacheManager, HoldsAllHitsBeforeItTakesNewBlocks) {
  KvCacheManager cache = make_cache(4);
  run_through(cache, count_up(8));
  BlockTable table;
  const std::vector<TokenId> tokens = count_up(16);
  const PrefixHit hit = cache.find_prefix(table, tokens);
  ASSERT_EQ(hit.num_tokens, 8);
  const auto added = cache.allocate_slots(table, hit, 16);
  ASSERT_TRUE(added);
  EXPECT_EQ(*added, table.blocks());
  EXPECT_EQ(std::vector((*added)[0].begin(), (*added)[0].begin() + 2), hit.blocks[0]);
  EXPECT_EQ(cache.stats().num_free_units, 0);
  EXPECT_EQ(cache.stats().evictions, 0);
  cache.check_invariants();
  cache.free(table);
}

TEST(KvCacheManager, ChangesNothingWhenHitsAndNewBlocksDoNotFit) {
  KvCacheManager cache = make_cache(3);
  run_through(cache, count_up(8));
  BlockTable table;
  const PrefixHit hit = cache.find_prefix(table, count_up(16));
  ASSERT_EQ(hit.num_tokens, 8);
  // Two hits that nobody holds and two new blocks are four.
  EXPECT_EQ(cache.allocate_slots(table, hit, 16), std::nullopt);
  EXPECT_EQ(table.num_blocks(), 0);
  EXPECT_EQ(cache.stats().num_free_units, 3);
  EXPECT_EQ(cache.stats().num_cached_blocks, 2);
  cache.check_invariants();
}

// kv.md H 11 and 25: what a step has not completed is not found.
TEST(KvCacheManager, OffersSettledBlocksOnly) {
  KvCacheManager cache = make_cache(4);
  const std::vector<TokenId> tokens = count_up(9);
  BlockTable table;
  ASSERT_TRUE(cache.allocate_slots(table, {}, 9));
  BlockTable other;
  EXPECT_EQ(cache.find_prefix(other, tokens).num_tokens, 0);
  cache.settle(table, tokens, 7);
  EXPECT_EQ(table.num_committed(), 1);
  EXPECT_EQ(cache.find_prefix(other, tokens).num_tokens, 4);
  cache.settle(table, tokens, 8);
  EXPECT_EQ(cache.find_prefix(other, tokens).num_tokens, 8);
  cache.free(table);
  EXPECT_EQ(cache.find_prefix(other, tokens).num_tokens, 8);
}

TEST(KvCacheManager, SharesOnlyUnderTheSameSalt) {
  KvCacheManager cache = make_cache(8);
  const std::vector<TokenId> tokens = count_up(9);
  run_through(cache, tokens, "X");
  BlockTable plain;
  BlockTable same("X");
  BlockTable other("Y");
  EXPECT_EQ(cache.find_prefix(plain, tokens).num_tokens, 0);
  EXPECT_EQ(cache.find_prefix(same, tokens).num_tokens, 8);
  EXPECT_EQ(cache.find_prefix(other, tokens).num_tokens, 0);
}

TEST(KvCacheManager, FindsNothingWhenCachingIsOff) {
  KvCacheManager cache = make_cache(8, false);
  run_through(cache, count_up(9));
  BlockTable table;
  EXPECT_EQ(cache.find_prefix(table, count_up(9)).num_tokens, 0);
  EXPECT_EQ(cache.stats().num_cached_blocks, 0);
}

}  // namespace
}  // namespace godwit
