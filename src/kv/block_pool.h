#pragma once
// The blocks of the cache and who holds them. A block is free when no reason to hold it is left;
// free blocks wait in eviction order and keep what they store (and their entry in the prefix index)
// until they are taken again. The pool knows ids only: the bytes belong to the runner.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

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

/// Fixed-size set of blocks. All operations cost O(1) a block and allocate nothing.
class BlockPool {
 public:
  /// `num_blocks` >= 1; the first blocks to be taken are 0, 1, 2, ...
  explicit BlockPool(std::int64_t num_blocks);

  [[nodiscard]] std::int64_t num_blocks() const {
    return static_cast<std::int64_t>(blocks_.size());
  }
  [[nodiscard]] std::int64_t num_free() const { return num_free_; }
  /// Whether no reason holds the block. Such a block may still be found by its hash.
  [[nodiscard]] bool is_free(BlockId id) const { return at(id).holds == 0; }
  [[nodiscard]] std::int32_t hold_count(BlockId id, HoldReason reason) const;

  /// Takes the next block in eviction order and holds it for `reason`. At least one must be free.
  BlockId take(HoldReason reason);

  /// Adds one hold; a free block leaves the free list.
  void hold(BlockId id, HoldReason reason);

  /// Ends one hold of each block, in the given order. Blocks that become free are appended to the
  /// eviction order when they are cached and put at its front otherwise. Naming a block twice in
  /// one call, or one that is not held for `reason`, is a bug and aborts.
  void release(std::span<const BlockId> ids, HoldReason reason);

  /// Marks whether the prefix index can find the block.
  void set_cached(BlockId id, bool cached) { at(id).cached = cached; }
  [[nodiscard]] bool is_cached(BlockId id) const { return at(id).cached; }

  /// Aborts unless the free list holds exactly the blocks without holds, each once (kv.md I1 to
  /// I3). O(num_blocks): for tests and debugging.
  void check_invariants() const;

 private:
  static constexpr BlockId kNone{-1};

  struct Block {
    std::array<std::int32_t, kNumHoldReasons> hold_counts{};
    std::int32_t holds = 0;  // Sum of hold_counts.
    bool cached = false;
    bool listed = false;  // In the free list.
    BlockId previous = kNone;
    BlockId next = kNone;
    std::uint64_t last_release = 0;  // The release() call that named it last.
  };

  Block& at(BlockId id);
  [[nodiscard]] const Block& at(BlockId id) const;
  void list_at_front(BlockId id);
  void list_at_back(BlockId id);
  void unlist(BlockId id);

  std::vector<Block> blocks_;
  BlockId first_ = kNone;
  BlockId last_ = kNone;
  std::int64_t num_free_ = 0;
  std::uint64_t num_releases_ = 0;
};

}  // namespace godwit
