#pragma once
// The blocks of the cache and who holds them, for all groups of layers. A block is free when no
// reason to hold it is left; free blocks keep what they store (and their entry in the prefix index)
// until they are taken again. The pool knows ids only: the bytes belong to the runner.
//
// See cache_layout.h for slabs. A group takes its free blocks of slabs that it must keep anyway
// first, then the slab that has been free for longest, whichever group used it; so a slab is never
// kept from one group by another that could do without it. Only while there are slabs to spare it
// takes one of them rather than lose a cached block.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kv/cache_layout.h"

namespace godwit {

/// Why a block may not be reused. Each reason is counted on its own, so that what ends one (a
/// request that finishes) cannot free what another still needs (a transfer that reads).
enum class HoldReason : std::uint8_t {
  kRequest,  ///< A sequence's block table names it.
  kReceive,  ///< Another machine writes it.
  kSend,     ///< Another machine reads it.
  kOffload,  ///< It is being copied out to a slower memory.
  kCopy,     ///< It is one end of a copy between blocks.
};
inline constexpr std::size_t kNumHoldReasons = 5;

/// A block of a group.
struct BlockRef {
  std::size_t group = 0;
  BlockId id{};

  friend bool operator==(const BlockRef&, const BlockRef&) = default;
};

/// Fixed-size set of blocks. All operations cost O(blocks of a slab) a block at most.
class BlockPool {
 public:
  /// At least one slab and one group. Of one group the first blocks to be taken are 0, 1, 2, ...
  explicit BlockPool(const CacheLayout& layout);

  [[nodiscard]] const CacheLayout& layout() const { return layout_; }
  /// Whether no reason holds the block. Such a block may still be found by its hash.
  [[nodiscard]] bool is_free(BlockRef block) const { return at(block).holds == 0; }
  [[nodiscard]] std::int32_t hold_count(BlockRef block, HoldReason reason) const;
  /// Units that no reason holds.
  [[nodiscard]] std::int64_t free_units() const;

  /// Whether needed[g] blocks of each group g can be taken, all of them together, after the blocks
  /// `kept` (each named once) are held.
  [[nodiscard]] bool can_take(std::span<const std::int64_t> needed,
                              std::span<const BlockRef> kept = {}) const;

  /// Takes a block and holds it for `reason`; can_take() says whether there is one. Cached blocks
  /// whose content is lost by that are not cached any more and are appended to `evicted`. At least
  /// `reserved_slabs` free slabs are left for groups that cannot do without.
  BlockId take(std::size_t group, HoldReason reason, std::vector<BlockRef>& evicted,
               std::int64_t reserved_slabs = std::numeric_limits<std::int64_t>::max());

  /// Adds one hold.
  void hold(BlockRef block, HoldReason reason);

  /// Ends one hold of each block of `group`, in the given order. What becomes free is taken again
  /// last when it is cached and first otherwise. Naming a block twice in one call, or one that is
  /// not held for `reason`, is a bug and aborts.
  void release(std::size_t group, std::span<const BlockId> ids, HoldReason reason);

  /// Marks whether the prefix index can find the block, which must be held.
  void set_cached(BlockRef block, bool cached) { at(block).cached = cached; }
  [[nodiscard]] bool is_cached(BlockRef block) const { return at(block).cached; }

  /// Aborts unless the lists hold exactly what is free, each once (kv.md I1 to I3). O(blocks): for
  /// tests and debugging.
  void check_invariants() const;

 private:
  static constexpr std::int64_t kNone = -1;

  /// A place in a doubly linked list of indices.
  struct Links {
    std::int64_t previous = kNone;
    std::int64_t next = kNone;
    bool listed = false;
  };
  struct List {
    std::int64_t first = kNone;
    std::int64_t last = kNone;
    std::int64_t size = 0;
  };
  struct Block {
    std::array<std::int32_t, kNumHoldReasons> hold_counts{};
    std::int32_t holds = 0;  // Sum of hold_counts.
    bool cached = false;
    Links links;  // In Group::free, when free in a slab of which a block is held.
    std::uint64_t last_release = 0;  // The release() call that named it last.
  };
  struct Group {
    std::vector<Block> blocks;
    List free;  // Free blocks of slabs of which some block is held.
  };
  struct Slab {
    std::size_t group = 0;      // Whose blocks it is cut into; meaningless before its first use.
    bool used = false;          // Belongs to a group.
    std::int64_t num_held = 0;  // Its blocks that are held.
    Links links;                // In free_slabs_, when none is.
  };

  Block& at(BlockRef block);
  [[nodiscard]] const Block& at(BlockRef block) const;
  [[nodiscard]] std::int64_t slab_of(BlockRef block) const;
  [[nodiscard]] std::int64_t blocks_per_slab(std::size_t group) const {
    return layout_.groups[group].blocks_per_slab;
  }
  void claim_slab(std::size_t group, std::vector<BlockRef>& evicted);
  void list_block(BlockRef block);
  void unlist_block(BlockRef block);
  void first_hold_of(std::int64_t slab);
  void last_hold_of(std::int64_t slab);

  template <class LinksOf>
  static void push_front(List& list, std::int64_t index, const LinksOf& links_of);
  template <class LinksOf>
  static void push_back(List& list, std::int64_t index, const LinksOf& links_of);
  template <class LinksOf>
  static void unlink(List& list, std::int64_t index, const LinksOf& links_of);
  template <class LinksOf>
  static void check_list(const List& list, const LinksOf& links_of);

  CacheLayout layout_;
  std::vector<Group> groups_;
  std::vector<Slab> slabs_;
  List free_slabs_;  // In the order in which they are to be used again.
  std::uint64_t num_releases_ = 0;
};

}  // namespace godwit
