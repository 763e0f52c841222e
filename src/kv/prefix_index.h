#pragma once
// Finds blocks by the hash of their content. Two blocks may have the same content (both were
// computed before either was known): both are kept, since block tables are append-only.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "kv/block_hash.h"

namespace godwit {

/// Map between hashes and blocks. It does not know who holds a block, so an entry stays until the
/// block is taken for something else.
class PrefixIndex {
 public:
  explicit PrefixIndex(std::int64_t num_blocks);

  /// Returns the first block with this content.
  [[nodiscard]] std::optional<BlockId> find(const BlockHash& hash) const;

  /// Adds a block that is not in the index.
  void insert(const BlockHash& hash, BlockId id);

  /// Removes a block that is in the index.
  void erase(BlockId id);

  /// Returns the hash under which the block is found, if any.
  [[nodiscard]] std::optional<BlockHash> hash_of(BlockId id) const;

  /// How many blocks can be found.
  [[nodiscard]] std::int64_t size() const { return size_; }

  /// Aborts unless every entry leads to blocks that carry its hash and back (kv.md I4).
  /// O(num_blocks).
  void check_invariants() const;

 private:
  static constexpr BlockId kNone{-1};

  struct Entry {
    BlockHash hash{};
    bool present = false;
    // The other blocks of the same content.
    BlockId previous = kNone;
    BlockId next = kNone;
  };

  Entry& at(BlockId id);
  [[nodiscard]] const Entry& at(BlockId id) const;

  std::unordered_map<BlockHash, BlockId, BlockHashHasher> first_;
  std::vector<Entry> entries_;
  std::int64_t size_ = 0;
};

}  // namespace godwit
