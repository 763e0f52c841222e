#include "kv/prefix_index.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

TEST(PrefixIndex, FindsWhatWasInserted) {
  PrefixIndex index(4);
  const BlockHash hash = root_hash("a");
  EXPECT_EQ(index.find(hash), std::nullopt);
  index.insert(hash, BlockId{2});
  EXPECT_EQ(index.find(hash), BlockId{2});
  EXPECT_EQ(index.hash_of(BlockId{2}), hash);
  EXPECT_EQ(index.hash_of(BlockId{1}), std::nullopt);
  index.check_invariants();
  index.erase(BlockId{2});
  EXPECT_EQ(index.find(hash), std::nullopt);
  EXPECT_EQ(index.size(), 0);
  index.check_invariants();
}

TEST(PrefixIndex, KeepsDuplicatesInAnyOrderOfRemoval) {
  const BlockHash hash = root_hash("a");
  for (int first = 0; first < 3; ++first) {
    for (int second = 0; second < 3; ++second) {
      if (first == second) {
        continue;
      }
      PrefixIndex index(3);
      for (int i = 0; i < 3; ++i) {
        index.insert(hash, static_cast<BlockId>(i));
        EXPECT_EQ(index.find(hash), BlockId{0});
      }
      index.check_invariants();
      index.erase(static_cast<BlockId>(first));
      index.check_invariants();
      index.erase(static_cast<BlockId>(second));
      index.check_invariants();
      EXPECT_EQ(index.find(hash), static_cast<BlockId>(3 - first - second));
      EXPECT_EQ(index.size(), 1);
    }
  }
}

TEST(PrefixIndexDeathTest, RefusesASecondEntryAndAMissingOne) {
  PrefixIndex index(2);
  index.insert(root_hash("a"), BlockId{0});
  EXPECT_DEATH(index.insert(root_hash("b"), BlockId{0}), "present");
  EXPECT_DEATH(index.erase(BlockId{1}), "present");
  EXPECT_DEATH(index.erase(BlockId{2}), "entries_");
}

}  // namespace
}  // namespace godwit
