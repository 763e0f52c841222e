#include "kv/block_pool.h"

#include "base/check.h"

namespace godwit {

namespace {
std::size_t index_of(HoldReason reason) {
  return static_cast<std::size_t>(reason);
}
}  // namespace

BlockPool::BlockPool(std::int64_t num_blocks) {
  CHECK_GE(num_blocks, 1);
  blocks_.resize(static_cast<std::size_t>(num_blocks));
  for (std::int64_t i = 0; i < num_blocks; ++i) {
    list_at_back(static_cast<BlockId>(i));
  }
}

BlockPool::Block& BlockPool::at(BlockId id) {
  const auto index = static_cast<std::int64_t>(id);
  CHECK(index >= 0 && index < num_blocks());
  return blocks_[static_cast<std::size_t>(index)];
}

const BlockPool::Block& BlockPool::at(BlockId id) const {
  const auto index = static_cast<std::int64_t>(id);
  CHECK(index >= 0 && index < num_blocks());
  return blocks_[static_cast<std::size_t>(index)];
}

std::int32_t BlockPool::hold_count(BlockId id, HoldReason reason) const {
  return at(id).hold_counts[index_of(reason)];
}

BlockId BlockPool::take(HoldReason reason) {
  CHECK_GE(num_free_, 1);
  const BlockId id = first_;
  hold(id, reason);
  return id;
}

void BlockPool::hold(BlockId id, HoldReason reason) {
  Block& block = at(id);
  if (block.holds == 0) {
    unlist(id);
  }
  ++block.hold_counts[index_of(reason)];
  ++block.holds;
}

void BlockPool::release(std::span<const BlockId> ids, HoldReason reason) {
  ++num_releases_;
  for (const BlockId id : ids) {
    Block& block = at(id);
    CHECK(block.last_release != num_releases_);  // Named twice in one call (kv.md I5).
    block.last_release = num_releases_;
    CHECK_GE(block.hold_counts[index_of(reason)], 1);
    --block.hold_counts[index_of(reason)];
    --block.holds;
    if (block.holds != 0) {
      continue;
    }
    if (block.cached) {
      list_at_back(id);
    } else {
      list_at_front(id);
    }
  }
}

void BlockPool::list_at_front(BlockId id) {
  Block& block = at(id);
  block.listed = true;
  block.previous = kNone;
  block.next = first_;
  if (first_ == kNone) {
    last_ = id;
  } else {
    at(first_).previous = id;
  }
  first_ = id;
  ++num_free_;
}

void BlockPool::list_at_back(BlockId id) {
  Block& block = at(id);
  block.listed = true;
  block.next = kNone;
  block.previous = last_;
  if (last_ == kNone) {
    first_ = id;
  } else {
    at(last_).next = id;
  }
  last_ = id;
  ++num_free_;
}

void BlockPool::unlist(BlockId id) {
  Block& block = at(id);
  if (block.previous == kNone) {
    first_ = block.next;
  } else {
    at(block.previous).next = block.next;
  }
  if (block.next == kNone) {
    last_ = block.previous;
  } else {
    at(block.next).previous = block.previous;
  }
  block.previous = kNone;
  block.next = kNone;
  block.listed = false;
  --num_free_;
}

void BlockPool::check_invariants() const {
  std::int64_t num_held = 0;
  for (const Block& block : blocks_) {
    std::int32_t holds = 0;
    for (const std::int32_t count : block.hold_counts) {
      CHECK_GE(count, 0);
      holds += count;
    }
    CHECK_EQ(holds, block.holds);
    CHECK(block.listed == (block.holds == 0));
    if (block.holds > 0) {
      CHECK(block.previous == kNone && block.next == kNone);
      ++num_held;
    }
  }
  std::int64_t num_listed = 0;
  BlockId previous = kNone;
  for (BlockId id = first_; id != kNone; id = at(id).next) {
    CHECK(at(id).listed);
    CHECK(at(id).previous == previous);
    previous = id;
    ++num_listed;
    CHECK_LE(num_listed, num_blocks());  // A cycle would pass it.
  }
  CHECK(last_ == previous);
  CHECK_EQ(num_listed, num_free_);
  CHECK_EQ(num_listed + num_held, num_blocks());
}

}  // namespace godwit
