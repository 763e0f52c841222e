#include "kv/kv_cache_manager.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "kv/kv_cache_spec.h"

namespace godwit {
namespace {

/// The first block that `group` needs to compute `position`.
std::int64_t first_block(const CacheLayout& layout, std::size_t group, std::int64_t position) {
  return layout.groups[group].retention.first_needed(position) / layout.block_size;
}

bool keeps_all(const CacheLayout& layout, std::size_t group) {
  return layout.groups[group].retention.kind == Retention::Kind::kAll;
}

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

std::vector<BlockId> blocks_among(std::span<const BlockId> row) {
  std::vector<BlockId> blocks;
  std::copy_if(row.begin(), row.end(), std::back_inserter(blocks),
               [](BlockId id) { return id != kNoBlock; });
  return blocks;
}

}  // namespace

KvCacheManager::KvCacheManager(const KvCacheOptions& options)
    : enable_prefix_caching_(options.enable_prefix_caching),
      reserved_slabs_(options.reserved_slabs),
      root_(root_hash(options.fingerprint)),
      pool_(options.layout) {
  CHECK_GE(options.layout.block_size, 1);
  for (std::size_t group = 0; group < options.layout.groups.size(); ++group) {
    indices_.emplace_back(options.layout.num_blocks(group));
  }
}

void KvCacheManager::extend_hashes(BlockTable& table, std::span<const TokenId> tokens,
                                   std::int64_t num_blocks) {
  const std::size_t size = at(block_size());
  while (static_cast<std::int64_t>(table.hashes_.size()) < num_blocks) {
    const std::size_t index = table.hashes_.size();
    const BlockHash& parent = index == 0 ? root_ : table.hashes_.back();
    const std::string_view salt = index == 0 ? std::string_view(table.salt_) : std::string_view();
    table.hashes_.push_back(hash_block(parent, tokens.subspan(index * size, size), salt));
  }
}

std::optional<BlockId> KvCacheManager::find_block(const BlockTable& table, std::size_t group,
                                                  std::int64_t index) const {
  return indices_[group].find(table.hashes_[at(index)]);
}

/// How many leading blocks every group that keeps everything has, at most `most`; hashes no more
/// blocks than it must.
std::int64_t KvCacheManager::common_prefix(BlockTable& table, std::span<const TokenId> tokens,
                                           std::int64_t most) {
  for (std::int64_t i = 0; i < most; ++i) {
    extend_hashes(table, tokens, i + 1);
    for (std::size_t group = 0; group < indices_.size(); ++group) {
      if (keeps_all(layout(), group) && !find_block(table, group, i)) {
        return i;
      }
    }
  }
  return most;
}

/// The largest number of blocks, at most `count`, after which the other groups can go on: a missing
/// block moves the end before it.
std::int64_t KvCacheManager::usable_prefix(const BlockTable& table, std::int64_t count) const {
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t group = 0; group < indices_.size(); ++group) {
      if (keeps_all(layout(), group)) {
        continue;
      }
      const std::int64_t first = first_block(layout(), group, count * block_size());
      std::int64_t i = count;
      while (i > first && find_block(table, group, i - 1)) {
        --i;
      }
      if (i > first) {
        count = i - 1;
        moved = true;
      }
    }
  }
  return count;
}

PrefixHit KvCacheManager::find_prefix(BlockTable& table, std::span<const TokenId> tokens) {
  CHECK_EQ(table.num_blocks(), 0);
  PrefixHit hit;
  if (!enable_prefix_caching_ || tokens.empty()) {
    return hit;
  }
  const std::int64_t most = (static_cast<std::int64_t>(tokens.size()) - 1) / block_size();
  const std::int64_t common = common_prefix(table, tokens, most);
  const std::int64_t count = usable_prefix(table, common);
  table.likely_starts_ = {common, most};
  if (count == 0) {
    return hit;
  }
  hit.num_tokens = count * block_size();
  for (std::size_t group = 0; group < indices_.size(); ++group) {
    std::vector<BlockId>& blocks = hit.blocks.emplace_back(at(count), kNoBlock);
    for (std::int64_t i = first_block(layout(), group, hit.num_tokens); i < count; ++i) {
      blocks[at(i)] = *find_block(table, group, i);
    }
  }
  return hit;
}

/// Whether the prefix cache is to keep the state after the first `num_blocks` blocks.
bool KvCacheManager::keeps_state(const BlockTable& table, std::size_t group,
                                 std::int64_t num_blocks) const {
  return enable_prefix_caching_ && num_blocks > 0 &&
         (num_blocks % layout().groups[group].state_spacing == 0 ||
          table.likely_starts_.contains(num_blocks));
}

KvCacheManager::Growth KvCacheManager::plan_growth(const BlockTable& table, const PrefixHit& hit,
                                                   std::int64_t num_tokens) const {
  Growth growth{.start = std::max(table.num_tokens_, hit.num_tokens),
                .end = num_tokens,
                .num_blocks = blocks_for(num_tokens, block_size()),
                .needed = BlockCounts(indices_.size()),
                .kept = std::vector<std::vector<std::int64_t>>(indices_.size())};
  for (std::size_t group = 0; group < indices_.size(); ++group) {
    if (!layout().groups[group].is_state()) {
      growth.needed[group] = growth.num_blocks - blocks_for(growth.start, block_size());
      continue;
    }
    growth.needed[group] = table.running_.empty() || table.running_[group] == kNoBlock ? 1 : 0;
    for (std::int64_t i = growth.start / block_size(); i < growth.num_blocks - 1; ++i) {
      if (keeps_state(table, group, i + 1)) {
        growth.kept[group].push_back(i);
      }
    }
  }
  return growth;
}

void KvCacheManager::grow_pages(BlockTable& table, std::size_t group, const Growth& growth,
                                const TakeBlock& take) {
  std::vector<BlockId>& blocks = table.blocks_[group];
  while (static_cast<std::int64_t>(blocks.size()) < growth.num_blocks) {
    blocks.push_back(take(group));
  }
}

/// Gives the states to keep and the one at the end their blocks. The state that the sequence may
/// change goes on to the end, unless it is one to keep where it is.
void KvCacheManager::grow_states(BlockTable& table, std::size_t group, const Growth& growth,
                                 const TakeBlock& take) const {
  std::vector<BlockId>& blocks = table.blocks_[group];
  BlockId& running = table.running_[group];
  blocks.resize(at(growth.num_blocks), kNoBlock);
  const auto old_place = std::find(blocks.begin(), blocks.end(), running);
  for (const std::int64_t index : growth.kept[group]) {
    if (blocks[at(index)] == kNoBlock) {
      blocks[at(index)] = take(group);
    } else {
      running = kNoBlock;
    }
  }
  if (running == kNoBlock) {
    running = take(group);
  } else {
    *old_place = kNoBlock;
  }
  blocks.back() = running;
  if (growth.end % block_size() == 0 && keeps_state(table, group, growth.num_blocks)) {
    running = kNoBlock;
  }
}

std::optional<GroupBlocks> KvCacheManager::allocate_slots(BlockTable& table, const PrefixHit& hit,
                                                          std::int64_t num_tokens,
                                                          const BlockCounts& spare) {
  CHECK(hit.blocks.empty() || table.num_blocks() == 0);
  const std::size_t num_groups = indices_.size();
  Growth growth = plan_growth(table, hit, num_tokens);
  if (growth.end <= growth.start) {
    return GroupBlocks(num_groups);
  }
  std::vector<BlockRef> hits;
  for (std::size_t group = 0; group < hit.blocks.size(); ++group) {
    for (const BlockId id : blocks_among(hit.blocks[group])) {
      hits.push_back({group, id});
    }
  }
  BlockCounts least = growth.needed;
  BlockCounts wanted = growth.needed;
  for (std::size_t group = 0; group < num_groups; ++group) {
    const std::int64_t spared = spare.empty() ? 0 : spare[group];
    least[group] += spared;
    wanted[group] += std::ssize(growth.kept[group]) + spared;
  }
  if (!pool_.can_take(wanted, hits)) {
    if (!pool_.can_take(least, hits)) {
      return std::nullopt;
    }
    growth.kept.assign(num_groups, {});
  }

  // All hits are held before the first block is taken: taking one could evict a hit.
  for (const BlockRef& block : hits) {
    pool_.hold(block, HoldReason::kRequest);
  }
  const std::int64_t num_old = table.num_blocks();
  if (num_old == 0) {
    table.blocks_ = hit.blocks;
    table.blocks_.resize(num_groups);
    table.running_.assign(num_groups, kNoBlock);
    for (std::size_t group = 0; group < num_groups; ++group) {
      table.first_kept_.push_back(first_block(layout(), group, hit.num_tokens));
    }
  }
  std::vector<BlockRef> evicted;
  const std::int64_t reserved = reserved_slabs_ + layout().slabs_for(wanted);
  const TakeBlock take = [&](std::size_t group) {
    return pool_.take(group, HoldReason::kRequest, evicted, reserved);
  };
  GroupBlocks added(num_groups);
  for (std::size_t group = 0; group < num_groups; ++group) {
    if (layout().groups[group].is_state()) {
      grow_states(table, group, growth, take);
    } else {
      grow_pages(table, group, growth, take);
    }
    added[group].assign(table.blocks_[group].begin() + num_old, table.blocks_[group].end());
  }
  for (const BlockRef& block : evicted) {
    indices_[block.group].erase(block.id);
  }
  evictions_ += static_cast<std::int64_t>(evicted.size());
  table.num_committed_ += hit.num_tokens / block_size();
  table.num_tokens_ = num_tokens;
  return added;
}

/// Offers the full blocks among the first `num_full`.
void KvCacheManager::commit(BlockTable& table, std::span<const TokenId> tokens,
                            std::int64_t num_full) {
  if (!enable_prefix_caching_ || num_full <= table.num_committed_) {
    return;
  }
  extend_hashes(table, tokens, num_full);
  for (std::size_t group = 0; group < indices_.size(); ++group) {
    for (std::int64_t i = table.num_committed_; i < num_full; ++i) {
      const BlockId id = table.blocks_[group][at(i)];
      if (id == kNoBlock || id == table.running_[group]) {
        continue;  // A state that was not to be kept here.
      }
      indices_[group].insert(table.hashes_[at(i)], id);
      pool_.set_cached({group, id}, true);
    }
  }
  table.num_committed_ = num_full;
}

void KvCacheManager::settle(BlockTable& table, std::span<const TokenId> tokens,
                            std::int64_t num_settled) {
  CHECK_LE(num_settled, static_cast<std::int64_t>(tokens.size()));
  CHECK_LE(num_settled, table.num_blocks() * block_size());
  commit(table, tokens, num_settled / block_size());
  for (std::size_t group = 0; group < table.blocks_.size(); ++group) {
    const std::int64_t first = first_block(layout(), group, num_settled);
    std::int64_t& first_kept = table.first_kept_[group];
    if (first <= first_kept) {
      continue;
    }
    const std::span<BlockId> left =
        std::span(table.blocks_[group]).subspan(at(first_kept), at(first - first_kept));
    pool_.release(group, blocks_among(left), HoldReason::kRequest);
    std::fill(left.begin(), left.end(), kNoBlock);
    first_kept = first;
  }
}

void KvCacheManager::free(BlockTable& table) {
  for (std::size_t group = 0; group < table.blocks_.size(); ++group) {
    std::vector<BlockId> blocks = blocks_among(table.blocks_[group]);
    std::reverse(blocks.begin(), blocks.end());
    pool_.release(group, blocks, HoldReason::kRequest);
  }
  table.blocks_.clear();
  table.first_kept_.clear();
  table.running_.clear();
  table.num_committed_ = 0;
  table.num_tokens_ = 0;
}

KvCacheStats KvCacheManager::stats() const {
  KvCacheStats stats = {.num_units = layout().num_slabs * layout().slab_units,
                        .num_free_units = pool_.free_units(),
                        .num_cached_blocks = 0,
                        .evictions = evictions_};
  for (const PrefixIndex& index : indices_) {
    stats.num_cached_blocks += index.size();
  }
  return stats;
}

void KvCacheManager::check_invariants() const {
  pool_.check_invariants();
  for (std::size_t group = 0; group < indices_.size(); ++group) {
    indices_[group].check_invariants();
    for (std::int64_t i = 0; i < layout().num_blocks(group); ++i) {
      const auto id = static_cast<BlockId>(i);
      CHECK(pool_.is_cached({group, id}) == indices_[group].hash_of(id).has_value());
    }
  }
}

}  // namespace godwit
