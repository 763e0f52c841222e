#pragma once
// Answers the scheduler's two questions: how many of these tokens are in the cache already, and
// give me blocks for so many more. It decides which block holds which tokens; it never touches
// their bytes.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "kv/block_hash.h"
#include "kv/block_pool.h"
#include "kv/block_table.h"
#include "kv/prefix_index.h"

namespace godwit {

struct KvCacheOptions {
  std::int64_t num_blocks = 0;   ///< >= 1
  std::int64_t block_size = 16;  ///< Tokens of a block, >= 1.
  bool enable_prefix_caching = true;
  /// Names the model and the layout of its cache, see root_hash().
  std::string fingerprint;
};

/// Leading blocks of a prompt that are in the cache. They are not held: use it before the next
/// change of the cache.
struct PrefixHit {
  std::vector<BlockId> blocks;
  std::int64_t num_tokens = 0;  ///< blocks.size() * block_size
};

struct KvCacheStats {
  std::int64_t num_blocks = 0;
  std::int64_t num_free_blocks = 0;    ///< Cached ones that nobody holds included.
  std::int64_t num_cached_blocks = 0;  ///< Blocks that a prompt can find.
  std::int64_t evictions = 0;          ///< Cached blocks taken for new tokens so far.

  /// Share of the blocks that are held, 0 to 1.
  [[nodiscard]] double usage() const {
    return 1.0 - static_cast<double>(num_free_blocks) / static_cast<double>(num_blocks);
  }
};

/// The blocks of all sequences of one engine.
///
/// Steps run in the order in which they were scheduled, so a block may be given away while an
/// earlier step still works on it: the new owner's step comes later.
class KvCacheManager {
 public:
  explicit KvCacheManager(const KvCacheOptions& options);

  [[nodiscard]] std::int64_t block_size() const { return options_.block_size; }

  /// Finds the longest cached prefix of `tokens`, at most tokens.size() - 1 of them: the last one
  /// is always computed, since the next token is drawn from it. `table` must hold no blocks.
  PrefixHit find_prefix(BlockTable& table, std::span<const TokenId> tokens);

  /// Makes `table` hold blocks for positions [0, num_tokens): the blocks of `hit` (for a table
  /// without blocks), then new ones. Returns the blocks added, hits first; or nothing, with no
  /// state changed, when there are not enough or fewer than `spare_blocks` would stay free.
  std::optional<std::vector<BlockId>> allocate_slots(BlockTable& table, const PrefixHit& hit,
                                                     std::int64_t num_tokens,
                                                     std::int64_t spare_blocks = 0);

  /// Offers the full blocks among positions [0, num_settled) to other sequences. Their steps have
  /// completed, so what they store is certain; `tokens` are the sequence's, at least num_settled.
  void commit(BlockTable& table, std::span<const TokenId> tokens, std::int64_t num_settled);

  /// Releases the table's blocks, last first, so that the end of a prefix is evicted before its
  /// start.
  void free(BlockTable& table);

  [[nodiscard]] KvCacheStats stats() const;
  [[nodiscard]] const BlockPool& pool() const { return pool_; }
  [[nodiscard]] const PrefixIndex& index() const { return index_; }

  /// Aborts unless pool and index are sound and agree (kv.md I1 to I4). O(num_blocks).
  void check_invariants() const;

 private:
  void extend_hashes(BlockTable& table, std::span<const TokenId> tokens, std::int64_t num_blocks);
  BlockId take_block();

  KvCacheOptions options_;
  BlockHash root_;
  BlockPool pool_;
  PrefixIndex index_;
  std::int64_t evictions_ = 0;
};

}  // namespace godwit
