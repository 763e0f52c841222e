#include "kv/block_hash.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace godwit {
namespace {

std::string hex(const BlockHash& hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : hash) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xFU];
  }
  return text;
}

// The expected values are Python's hashlib.sha256 over the documented bytes: for each part its tag,
// its length (the tokens' their number) as 8 little-endian bytes, and its content, with tokens as 4
// little-endian bytes each.
TEST(BlockHash, IsSha256OverTheCanonicalBytes) {
  const BlockHash root = root_hash("model");
  EXPECT_EQ(hex(root), "7e60056cf19e7d8fd38b02ea144f36dd18b8b19f2ad924ae3a81cd8c7df3a382");
  const std::vector<TokenId> tokens{1, 2, 300'000, -1};
  EXPECT_EQ(hex(hash_block(root, tokens, "")),
            "968affb3d0a4d7fed3cb35b429c447e97fd9c0e7704a345c153592b57dd3ed5b");
  EXPECT_EQ(hex(hash_block(root, tokens, "pepper")),
            "50cac36fb98a5e92e00812d8390f29c227a270084fa742d226d737e5eab466bc");
}

TEST(BlockHash, DependsOnEverythingThatTheContentDependsOn) {
  const BlockHash root = root_hash("model");
  const std::vector<TokenId> tokens{1, 2};
  const std::vector<TokenId> other{1, 3};
  const BlockHash hash = hash_block(root, tokens, "");
  EXPECT_NE(hash, hash_block(root_hash("model 2"), tokens, ""));
  EXPECT_NE(hash, hash_block(root, other, ""));
  EXPECT_NE(hash, hash_block(hash, tokens, ""));
  EXPECT_NE(hash, hash_block(root, tokens, "salt"));
  // The salt of the first block reaches the second through the chain.
  EXPECT_NE(hash_block(hash, tokens, ""), hash_block(hash_block(root, tokens, "salt"), tokens, ""));
}

// kv.md H 4: parts are tagged and have their length, so a salt cannot pose as something else.
TEST(BlockHash, PartsCannotPoseAsEachOther) {
  const BlockHash root = root_hash("model");
  const std::string token_bytes("\x02\0\0\0", 4);
  const std::vector<TokenId> one{1};
  const std::vector<TokenId> two{1, 2};
  EXPECT_NE(hash_block(root, one, token_bytes), hash_block(root, two, ""));
  EXPECT_NE(root_hash("X"), hash_block(root_hash(""), {}, "X"));
}

// kv.md H 7: the hash is cryptographic, so what holds for random blocks holds for crafted ones.
TEST(BlockHash, RandomBlocksDoNotCollide) {
  std::mt19937 random(7);
  std::set<BlockHash> seen;
  BlockHash parent = root_hash("model");
  std::vector<TokenId> tokens(16);
  constexpr int kNumBlocks = 100'000;
  for (int i = 0; i < kNumBlocks; ++i) {
    for (TokenId& token : tokens) {
      token = static_cast<TokenId>(random() % 4);
    }
    const BlockHash hash = hash_block(parent, tokens, "");
    EXPECT_TRUE(seen.insert(hash).second);
    if (i % 3 == 0) {
      parent = hash;
    }
  }
}

}  // namespace
}  // namespace godwit
