#include "kv/block_pool.h"

#include <algorithm>

#include "base/check.h"

namespace godwit {

namespace {
std::size_t index_of(HoldReason reason) {
  return static_cast<std::size_t>(reason);
}
}  // namespace

template <class LinksOf>
void BlockPool::push_front(List& list, std::int64_t index, const LinksOf& links_of) {
  Links& links = links_of(index);
  CHECK(!links.listed);
  links = {.previous = kNone, .next = list.first, .listed = true};
  (list.first == kNone ? list.last : links_of(list.first).previous) = index;
  list.first = index;
  ++list.size;
}

template <class LinksOf>
void BlockPool::push_back(List& list, std::int64_t index, const LinksOf& links_of) {
  Links& links = links_of(index);
  CHECK(!links.listed);
  links = {.previous = list.last, .next = kNone, .listed = true};
  (list.last == kNone ? list.first : links_of(list.last).next) = index;
  list.last = index;
  ++list.size;
}

template <class LinksOf>
void BlockPool::unlink(List& list, std::int64_t index, const LinksOf& links_of) {
  Links& links = links_of(index);
  CHECK(links.listed);
  (links.previous == kNone ? list.first : links_of(links.previous).next) = links.next;
  (links.next == kNone ? list.last : links_of(links.next).previous) = links.previous;
  links = {};
  --list.size;
}

BlockPool::BlockPool(const CacheLayout& layout) : layout_(layout) {
  CHECK_GE(layout_.num_slabs, 1);
  CHECK(!layout_.groups.empty());
  groups_.resize(layout_.groups.size());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    groups_[group].blocks.resize(static_cast<std::size_t>(layout_.num_blocks(group)));
  }
  slabs_.resize(static_cast<std::size_t>(layout_.num_slabs));
  for (std::int64_t slab = 0; slab < layout_.num_slabs; ++slab) {
    last_hold_of(slab);
  }
}

BlockPool::Block& BlockPool::at(BlockRef block) {
  return const_cast<Block&>(static_cast<const BlockPool*>(this)->at(block));
}

const BlockPool::Block& BlockPool::at(BlockRef block) const {
  const auto index = static_cast<std::int64_t>(block.id);
  CHECK(index >= 0 && index < layout_.num_blocks(block.group));
  return groups_[block.group].blocks[static_cast<std::size_t>(index)];
}

std::int64_t BlockPool::slab_of(BlockRef block) const {
  return static_cast<std::int64_t>(block.id) / blocks_per_slab(block.group);
}

std::int32_t BlockPool::hold_count(BlockRef block, HoldReason reason) const {
  return at(block).hold_counts[index_of(reason)];
}

std::int64_t BlockPool::free_units() const {
  std::int64_t units = free_slabs_.size * layout_.slab_units;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    units += groups_[group].free.size * layout_.groups[group].block_units;
  }
  return units;
}

bool BlockPool::can_take(std::span<const std::int64_t> needed,
                         std::span<const BlockRef> kept) const {
  CHECK_EQ(needed.size(), groups_.size());
  std::vector<std::int64_t> ready(groups_.size());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    ready[group] = groups_[group].free.size;
  }
  std::vector<std::int64_t> kept_slabs;
  for (const BlockRef& block : kept) {
    if (!is_free(block)) {
      continue;
    }
    ready[block.group] -= 1;
    const std::int64_t slab = slab_of(block);
    if (slabs_[static_cast<std::size_t>(slab)].num_held == 0) {
      kept_slabs.push_back(slab);
    }
  }
  // The other blocks of a free slab can be taken once one of them is kept.
  std::sort(kept_slabs.begin(), kept_slabs.end());
  kept_slabs.erase(std::unique(kept_slabs.begin(), kept_slabs.end()), kept_slabs.end());
  for (const std::int64_t slab : kept_slabs) {
    const std::size_t group = slabs_[static_cast<std::size_t>(slab)].group;
    ready[group] += blocks_per_slab(group);
  }
  std::int64_t slabs = static_cast<std::int64_t>(kept_slabs.size());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const std::int64_t lacking = std::max<std::int64_t>(0, needed[group] - ready[group]);
    slabs += blocks_for(lacking, blocks_per_slab(group));
  }
  return slabs <= free_slabs_.size;
}

void BlockPool::list_block(BlockRef block) {
  Group& group = groups_[block.group];
  const auto links_of = [&](std::int64_t i) -> Links& {
    return group.blocks[static_cast<std::size_t>(i)].links;
  };
  if (at(block).cached) {
    push_back(group.free, static_cast<std::int64_t>(block.id), links_of);
  } else {
    push_front(group.free, static_cast<std::int64_t>(block.id), links_of);
  }
}

void BlockPool::unlist_block(BlockRef block) {
  Group& group = groups_[block.group];
  unlink(group.free, static_cast<std::int64_t>(block.id),
         [&](std::int64_t i) -> Links& { return group.blocks[static_cast<std::size_t>(i)].links; });
}

/// Takes a slab from the free ones and lists its free blocks with its group.
void BlockPool::first_hold_of(std::int64_t slab) {
  unlink(free_slabs_, slab,
         [&](std::int64_t i) -> Links& { return slabs_[static_cast<std::size_t>(i)].links; });
  const std::size_t group = slabs_[static_cast<std::size_t>(slab)].group;
  const std::int64_t count = blocks_per_slab(group);
  // Last first, so that plain blocks are taken in the order of their ids.
  for (std::int64_t i = (slab + 1) * count; i > slab * count; --i) {
    list_block({group, static_cast<BlockId>(i - 1)});
  }
}

/// Puts a slab of which nothing is held among the free ones: where cached blocks end, or where
/// there is nothing to lose.
void BlockPool::last_hold_of(std::int64_t slab) {
  Slab& freed = slabs_[static_cast<std::size_t>(slab)];
  bool cached = !freed.used;  // At the start, in the order of ids.
  const std::int64_t count = freed.used ? blocks_per_slab(freed.group) : 0;
  for (std::int64_t i = slab * count; i < (slab + 1) * count; ++i) {
    const BlockRef block = {freed.group, static_cast<BlockId>(i)};
    cached = cached || at(block).cached;
    unlist_block(block);
  }
  const auto links_of = [&](std::int64_t i) -> Links& {
    return slabs_[static_cast<std::size_t>(i)].links;
  };
  if (cached) {
    push_back(free_slabs_, slab, links_of);
  } else {
    push_front(free_slabs_, slab, links_of);
  }
}

/// Cuts the slab that has been free for longest into blocks of `group`.
void BlockPool::claim_slab(std::size_t group, std::vector<BlockRef>& evicted) {
  const std::int64_t index = free_slabs_.first;
  CHECK_GE(free_slabs_.size, 1);
  Slab& slab = slabs_[static_cast<std::size_t>(index)];
  if (slab.used) {
    const std::int64_t count = blocks_per_slab(slab.group);
    for (std::int64_t i = index * count; i < (index + 1) * count; ++i) {
      const BlockRef block = {slab.group, static_cast<BlockId>(i)};
      if (at(block).cached) {
        at(block).cached = false;
        evicted.push_back(block);
      }
    }
  }
  slab.used = true;
  slab.group = group;
  first_hold_of(index);
}

BlockId BlockPool::take(std::size_t group, HoldReason reason, std::vector<BlockRef>& evicted,
                        std::int64_t reserved_slabs) {
  // Cached blocks come last among the free ones.
  const std::int64_t first = groups_[group].free.first;
  if (first == kNone ||
      (free_slabs_.size > reserved_slabs && is_cached({group, static_cast<BlockId>(first)}))) {
    claim_slab(group, evicted);
  }
  const BlockRef block = {group, static_cast<BlockId>(groups_[group].free.first)};
  Block& taken = at(block);
  if (taken.cached) {
    taken.cached = false;
    evicted.push_back(block);
  }
  hold(block, reason);
  return block.id;
}

void BlockPool::hold(BlockRef block, HoldReason reason) {
  Block& held = at(block);
  if (held.holds == 0) {
    const std::int64_t index = slab_of(block);
    Slab& slab = slabs_[static_cast<std::size_t>(index)];
    CHECK(slab.used && slab.group == block.group);
    if (slab.links.listed) {
      first_hold_of(index);
    }
    unlist_block(block);
    ++slab.num_held;
  }
  ++held.hold_counts[index_of(reason)];
  ++held.holds;
}

void BlockPool::release(std::size_t group, std::span<const BlockId> ids, HoldReason reason) {
  ++num_releases_;
  for (const BlockId id : ids) {
    const BlockRef block = {group, id};
    Block& released = at(block);
    CHECK(released.last_release != num_releases_);  // Named twice in one call (kv.md I5).
    released.last_release = num_releases_;
    CHECK_GE(released.hold_counts[index_of(reason)], 1);
    --released.hold_counts[index_of(reason)];
    --released.holds;
    if (released.holds != 0) {
      continue;
    }
    list_block(block);
    const std::int64_t index = slab_of(block);
    if (--slabs_[static_cast<std::size_t>(index)].num_held == 0) {
      last_hold_of(index);
    }
  }
}

template <class LinksOf>
void BlockPool::check_list(const List& list, const LinksOf& links_of) {
  std::int64_t previous = kNone;
  std::int64_t size = 0;
  for (std::int64_t index = list.first; index != kNone; index = links_of(index).next) {
    CHECK(links_of(index).listed);
    CHECK_EQ(links_of(index).previous, previous);
    previous = index;
    ++size;
    CHECK_LE(size, list.size);  // A cycle would pass it.
  }
  CHECK_EQ(list.last, previous);
  CHECK_EQ(list.size, size);
}

void BlockPool::check_invariants() const {
  std::vector<std::int64_t> num_held(slabs_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    std::int64_t num_listed = 0;
    for (std::int64_t i = 0; i < layout_.num_blocks(g); ++i) {
      const Block& block = group.blocks[static_cast<std::size_t>(i)];
      const Slab& slab = slabs_[static_cast<std::size_t>(slab_of({g, static_cast<BlockId>(i)}))];
      std::int32_t holds = 0;
      for (const std::int32_t count : block.hold_counts) {
        CHECK_GE(count, 0);
        holds += count;
      }
      CHECK_EQ(holds, block.holds);
      const bool owned = slab.used && slab.group == g;
      CHECK(owned || (holds == 0 && !block.cached));
      CHECK(block.links.listed == (owned && holds == 0 && slab.num_held > 0));
      num_listed += block.links.listed ? 1 : 0;
      num_held[static_cast<std::size_t>(&slab - slabs_.data())] += holds > 0 ? 1 : 0;
    }
    CHECK_EQ(num_listed, group.free.size);
    check_list(group.free, [&](std::int64_t i) -> const Links& {
      return group.blocks[static_cast<std::size_t>(i)].links;
    });
  }
  std::int64_t num_free = 0;
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    CHECK_EQ(slabs_[i].num_held, num_held[i]);
    CHECK(slabs_[i].links.listed == (slabs_[i].num_held == 0));
    num_free += slabs_[i].num_held == 0 ? 1 : 0;
  }
  CHECK_EQ(num_free, free_slabs_.size);
  check_list(free_slabs_, [&](std::int64_t i) -> const Links& {
    return slabs_[static_cast<std::size_t>(i)].links;
  });
}

}  // namespace godwit
