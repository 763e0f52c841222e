#pragma once
// How one piece of memory is shared by groups whose blocks differ in size.
//
// The memory is cut into slabs of equal size. A slab is empty or belongs to one group, which cuts
// it into blocks of its own size; it goes to any group that needs it once nothing holds a block of
// it. So all groups draw on one budget of bytes. Where there is one group, a slab is a block.
//
// Kernels address blocks of every group by one rule: a block's place counts units, the largest size
// of which the blocks of all groups are multiples, from the start of the memory.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "kv/kv_cache_spec.h"

namespace godwit {

/// One number of blocks for each group.
using BlockCounts = std::vector<std::int64_t>;
/// Blocks of each group.
using GroupBlocks = std::vector<std::vector<BlockId>>;

/// No block: positions that a group does not keep any more.
inline constexpr BlockId kNoBlock{-1};

struct GroupLayout {
  Retention retention;
  std::int64_t block_units = 1;
  std::int64_t blocks_per_slab = 1;
  /// Of a group of states: how many blocks of tokens lie between two that the prefix cache keeps.
  std::int64_t state_spacing = 1;

  [[nodiscard]] bool is_state() const { return retention.kind == Retention::Kind::kState; }
};

struct CacheLayout {
  std::int64_t block_size = 16;  ///< Tokens of a block, in every group.
  std::size_t unit_bytes = 1;
  std::int64_t slab_units = 1;
  std::int64_t num_slabs = 0;
  std::vector<GroupLayout> groups;

  /// `num_blocks` blocks for layers that keep everything.
  static CacheLayout single(std::int64_t num_blocks, std::int64_t block_size);

  /// Block ids of a group are [0, num_blocks).
  [[nodiscard]] std::int64_t num_blocks(std::size_t group) const {
    return num_slabs * groups[group].blocks_per_slab;
  }
  /// Where a block lies, in units; kNoBlock stays negative.
  [[nodiscard]] std::int64_t place(std::size_t group, BlockId id) const;
  [[nodiscard]] std::size_t slab_bytes() const {
    return static_cast<std::size_t>(slab_units) * unit_bytes;
  }
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(num_slabs) * slab_bytes();
  }

  /// The most blocks of a group that a sequence of `num_tokens` holds at once when no more than
  /// `step_tokens` of its positions are computed together.
  [[nodiscard]] std::int64_t most_blocks(std::size_t group, std::int64_t num_tokens,
                                         std::int64_t step_tokens) const;
  /// Adds to `counts` the blocks of each group that a sequence takes more until it reaches
  /// `num_tokens`. It has blocks up to position `end` (a multiple of block_size, or the end of its
  /// tokens) and computes the positions from `start` on.
  void add_growth(std::int64_t start, std::int64_t end, std::int64_t num_tokens,
                  std::int64_t step_tokens, BlockCounts& counts) const;
  /// Slabs that so many blocks of each group fill.
  [[nodiscard]] std::int64_t slabs_for(const BlockCounts& counts) const;
  /// Slabs that such a sequence needs, alone in the cache.
  [[nodiscard]] std::int64_t most_slabs(std::int64_t num_tokens, std::int64_t step_tokens) const;
};

/// The layout of as many slabs as fit into `bytes`; maybe none.
CacheLayout make_cache_layout(const KvCacheSpec& spec, std::size_t bytes);

}  // namespace godwit
