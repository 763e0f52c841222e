#pragma once
// One sequence's blocks. A value that the sequence owns and KvCacheManager changes.

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "kv/block_hash.h"
#include "kv/cache_layout.h"

namespace godwit {

/// In every group, block i holds the tokens at positions [i * block_size, (i + 1) * block_size), or
/// is kNoBlock where the group does not keep them any more. In a group of states it holds the state
/// after the last of these tokens (so far), or is kNoBlock where that is not kept.
class BlockTable {
 public:
  /// Sequences share cached blocks only under the same salt.
  explicit BlockTable(std::string salt = {}) : salt_(std::move(salt)) {}

  /// All groups' tables are of one length; before the first block there are no groups.
  [[nodiscard]] const GroupBlocks& blocks() const { return blocks_; }
  /// Their length.
  [[nodiscard]] std::int64_t num_blocks() const {
    return blocks_.empty() ? 0 : static_cast<std::int64_t>(blocks_[0].size());
  }
  [[nodiscard]] const std::string& salt() const { return salt_; }
  /// How many leading blocks have been offered to the prefix index (or came from it).
  [[nodiscard]] std::int64_t num_committed() const { return num_committed_; }

 private:
  friend class KvCacheManager;

  std::string salt_;
  GroupBlocks blocks_;
  // Of each group: blocks before this one are kNoBlock.
  std::vector<std::int64_t> first_kept_;
  // hashes_[i] names the tokens of block i. They outlive the blocks: a sequence that is preempted
  // keeps its tokens, so it finds its old blocks without hashing them again.
  std::vector<BlockHash> hashes_;
  std::int64_t num_committed_ = 0;
  std::int64_t num_tokens_ = 0;  // There are blocks for so many.
  // Of each group: the block that holds the sequence's state and that it may change; kNoBlock in
  // groups without states and where the last state is one that is kept.
  std::vector<BlockId> running_;
  // After so many blocks others are likely to begin, so the state there is kept.
  std::set<std::int64_t> likely_starts_;
};

}  // namespace godwit
