#pragma once
// Answers the scheduler's two questions: how many of these tokens are in the cache already, and
// give me blocks for so many more. It decides which block holds which tokens; it never touches
// their bytes.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "kv/block_hash.h"
#include "kv/block_pool.h"
#include "kv/block_table.h"
#include "kv/cache_layout.h"
#include "kv/prefix_index.h"

namespace godwit {

struct KvCacheOptions {
  CacheLayout layout;  ///< At least one slab.
  bool enable_prefix_caching = true;
  /// What the longest sequence needs, alone in the cache (see CacheLayout::most_slabs): while more
  /// slabs than these are free, cached blocks are spared at the cost of slabs that fill badly.
  std::int64_t reserved_slabs = std::numeric_limits<std::int64_t>::max() / 2;
  /// Names the model and the layout of its cache, see root_hash().
  std::string fingerprint;
};

/// Leading tokens of a prompt that are in the cache: of each group the blocks that are needed to go
/// on after them. They are not held: use it before the next change of the cache.
struct PrefixHit {
  GroupBlocks blocks;
  std::int64_t num_tokens = 0;  ///< A multiple of block_size.
};

struct KvCacheStats {
  std::int64_t num_units = 0;          ///< See CacheLayout; of one group, a unit is a block.
  std::int64_t num_free_units = 0;     ///< Cached ones that nobody holds included.
  std::int64_t num_cached_blocks = 0;  ///< Blocks that a prompt can find, of all groups.
  std::int64_t evictions = 0;          ///< Cached blocks taken for new tokens so far.

  /// Share of the memory that is held, 0 to 1.
  [[nodiscard]] double usage() const {
    return 1.0 - static_cast<double>(num_free_units) / static_cast<double>(num_units);
  }
};

/// The blocks of all sequences of one engine.
///
/// Steps run in the order in which they were scheduled, so a block may be given away while an
/// earlier step still works on it: the new owner's step comes later.
class KvCacheManager {
 public:
  explicit KvCacheManager(const KvCacheOptions& options);

  [[nodiscard]] std::int64_t block_size() const { return layout().block_size; }
  [[nodiscard]] const CacheLayout& layout() const { return pool_.layout(); }

  /// Finds the longest prefix of `tokens` after which every group can go on, at most
  /// tokens.size() - 1 of them: the last one is always computed, since the next token is drawn from
  /// it. `table` must hold no blocks. It remembers where other prompts are likely to go on from
  /// this one: at its end, and where pages are shared with an earlier one but no state is there.
  PrefixHit find_prefix(BlockTable& table, std::span<const TokenId> tokens);

  /// Makes `table` hold blocks for positions up to `num_tokens`: the blocks of `hit` (for a table
  /// without blocks), then new ones. Returns the blocks added, hits first; or nothing, with no
  /// state changed, when there are not enough or `spare` (of each group; empty means none) could
  /// not be taken afterwards. States that only the prefix cache wants are taken when there is room
  /// for them.
  std::optional<GroupBlocks> allocate_slots(BlockTable& table, const PrefixHit& hit,
                                            std::int64_t num_tokens, const BlockCounts& spare = {});

  /// Takes in that the steps of positions [0, num_settled) have completed, so that what they
  /// stored is certain: offers their full blocks to other sequences, then releases the blocks that
  /// no later position reads. `tokens` are the sequence's, at least num_settled.
  void settle(BlockTable& table, std::span<const TokenId> tokens, std::int64_t num_settled);

  /// Releases the table's blocks, last first, so that the end of a prefix is evicted before its
  /// start.
  void free(BlockTable& table);

  [[nodiscard]] KvCacheStats stats() const;
  [[nodiscard]] const BlockPool& pool() const { return pool_; }
  [[nodiscard]] const PrefixIndex& index(std::size_t group) const { return indices_[group]; }

  /// Aborts unless pool and indices are sound and agree (kv.md I1 to I4). O(num_blocks).
  void check_invariants() const;

 private:
  using TakeBlock = std::function<BlockId(std::size_t group)>;

  /// What a table takes for the positions [start, end).
  struct Growth {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::int64_t num_blocks = 0;  // Of the table afterwards.
    BlockCounts needed;           // Blocks of each group.
    /// Of each group of states: the blocks, but for the last one, whose states are wanted too.
    std::vector<std::vector<std::int64_t>> kept;
  };

  void extend_hashes(BlockTable& table, std::span<const TokenId> tokens, std::int64_t num_blocks);
  [[nodiscard]] std::optional<BlockId> find_block(const BlockTable& table, std::size_t group,
                                                  std::int64_t index) const;
  std::int64_t common_prefix(BlockTable& table, std::span<const TokenId> tokens, std::int64_t most);
  [[nodiscard]] std::int64_t usable_prefix(const BlockTable& table, std::int64_t count) const;
  void commit(BlockTable& table, std::span<const TokenId> tokens, std::int64_t num_full);
  [[nodiscard]] bool keeps_state(const BlockTable& table, std::size_t group,
                                 std::int64_t num_blocks) const;
  [[nodiscard]] Growth plan_growth(const BlockTable& table, const PrefixHit& hit,
                                   std::int64_t num_tokens) const;
  static void grow_pages(BlockTable& table, std::size_t group, const Growth& growth,
                         const TakeBlock& take);
  void grow_states(BlockTable& table, std::size_t group, const Growth& growth,
                   const TakeBlock& take) const;

  bool enable_prefix_caching_;
  std::int64_t reserved_slabs_;
  BlockHash root_;
  BlockPool pool_;
  std::vector<PrefixIndex> indices_;  // One a group.
  std::int64_t evictions_ = 0;
};

}  // namespace godwit
