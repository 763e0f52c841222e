#pragma once
// One sequence's blocks. A value that the sequence owns and KvCacheManager changes.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "kv/block_hash.h"

namespace godwit {

/// Block i holds the tokens at positions [i * block_size, (i + 1) * block_size).
class BlockTable {
 public:
  /// Sequences share cached blocks only under the same salt.
  explicit BlockTable(std::string salt = {}) : salt_(std::move(salt)) {}

  [[nodiscard]] const std::vector<BlockId>& blocks() const { return blocks_; }
  [[nodiscard]] const std::string& salt() const { return salt_; }
  /// How many leading blocks have been offered to the prefix index (or came from it).
  [[nodiscard]] std::int64_t num_committed() const { return num_committed_; }

 private:
  friend class KvCacheManager;

  std::string salt_;
  std::vector<BlockId> blocks_;
  // hashes_[i] names the tokens of block i. They outlive the blocks: a sequence that is preempted
  // keeps its tokens, so it finds its old blocks without hashing them again.
  std::vector<BlockHash> hashes_;
  std::int64_t num_committed_ = 0;
};

}  // namespace godwit
