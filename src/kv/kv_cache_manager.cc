#include "kv/kv_cache_manager.h"

#include <algorithm>

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

}  // namespace

KvCacheManager::KvCacheManager(const KvCacheOptions& options)
    : enable_prefix_caching_(options.enable_prefix_caching),
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
  const std::int64_t count = usable_prefix(table, common_prefix(table, tokens, most));
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

std::optional<GroupBlocks> KvCacheManager::allocate_slots(BlockTable& table, const PrefixHit& hit,
                                                          std::int64_t num_tokens,
                                                          const BlockCounts& spare) {
  CHECK(hit.blocks.empty() || table.num_blocks() == 0);
  const std::size_t num_groups = indices_.size();
  const std::int64_t num_owned = table.num_blocks() + hit.num_tokens / block_size();
  const std::int64_t num_new =
      std::max<std::int64_t>(0, blocks_for(num_tokens, block_size()) - num_owned);
  BlockCounts needed = spare;
  needed.resize(num_groups);
  std::vector<BlockRef> hits;
  for (std::size_t group = 0; group < num_groups; ++group) {
    needed[group] += num_new;
    for (std::size_t i = 0; i < at(hit.num_tokens / block_size()); ++i) {
      if (hit.blocks[group][i] != kNoBlock) {
        hits.push_back({group, hit.blocks[group][i]});
      }
    }
  }
  if (!pool_.can_take(needed, hits)) {
    return std::nullopt;
  }

  // All hits are held before the first block is taken: taking one could evict a hit.
  for (const BlockRef& block : hits) {
    pool_.hold(block, HoldReason::kRequest);
  }
  GroupBlocks added = hit.blocks;
  added.resize(num_groups);
  table.blocks_.resize(num_groups);
  table.first_kept_.resize(num_groups);
  std::vector<BlockRef> evicted;
  for (std::size_t group = 0; group < num_groups; ++group) {
    if (hit.num_tokens > 0) {
      table.first_kept_[group] = first_block(layout(), group, hit.num_tokens);
    }
    for (std::int64_t i = 0; i < num_new; ++i) {
      added[group].push_back(pool_.take(group, HoldReason::kRequest, evicted));
    }
    table.blocks_[group].insert(table.blocks_[group].end(), added[group].begin(),
                                added[group].end());
  }
  for (const BlockRef& block : evicted) {
    indices_[block.group].erase(block.id);
  }
  evictions_ += static_cast<std::int64_t>(evicted.size());
  table.num_committed_ += hit.num_tokens / block_size();
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
    pool_.release(group, left, HoldReason::kRequest);
    std::fill(left.begin(), left.end(), kNoBlock);
    first_kept = first;
  }
}

void KvCacheManager::free(BlockTable& table) {
  for (std::size_t group = 0; group < table.blocks_.size(); ++group) {
    std::vector<BlockId>& blocks = table.blocks_[group];
    blocks.erase(blocks.begin(), blocks.begin() + table.first_kept_[group]);
    std::reverse(blocks.begin(), blocks.end());
    pool_.release(group, blocks, HoldReason::kRequest);
  }
  table.blocks_.clear();
  table.first_kept_.clear();
  table.num_committed_ = 0;
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
