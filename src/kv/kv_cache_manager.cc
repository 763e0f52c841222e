#include "kv/kv_cache_manager.h"

#include <algorithm>

#include "base/check.h"
#include "kv/kv_cache_spec.h"

namespace godwit {

KvCacheManager::KvCacheManager(const KvCacheOptions& options)
    : options_(options),
      root_(root_hash(options.fingerprint)),
      pool_(options.num_blocks),
      index_(options.num_blocks) {
  CHECK_GE(options.block_size, 1);
}

void KvCacheManager::extend_hashes(BlockTable& table, std::span<const TokenId> tokens,
                                   std::int64_t num_blocks) {
  const auto block_size = static_cast<std::size_t>(options_.block_size);
  while (static_cast<std::int64_t>(table.hashes_.size()) < num_blocks) {
    const std::size_t index = table.hashes_.size();
    const BlockHash& parent = index == 0 ? root_ : table.hashes_.back();
    const std::string_view salt = index == 0 ? std::string_view(table.salt_) : std::string_view();
    table.hashes_.push_back(
        hash_block(parent, tokens.subspan(index * block_size, block_size), salt));
  }
}

PrefixHit KvCacheManager::find_prefix(BlockTable& table, std::span<const TokenId> tokens) {
  CHECK(table.blocks_.empty());
  PrefixHit hit;
  if (!options_.enable_prefix_caching || tokens.empty()) {
    return hit;
  }
  const std::int64_t most = (static_cast<std::int64_t>(tokens.size()) - 1) / options_.block_size;
  for (std::int64_t i = 0; i < most; ++i) {
    extend_hashes(table, tokens, i + 1);
    const std::optional<BlockId> block = index_.find(table.hashes_[static_cast<std::size_t>(i)]);
    if (!block) {
      break;
    }
    hit.blocks.push_back(*block);
  }
  hit.num_tokens = static_cast<std::int64_t>(hit.blocks.size()) * options_.block_size;
  return hit;
}

BlockId KvCacheManager::take_block() {
  const BlockId id = pool_.take(HoldReason::kRequest);
  if (pool_.is_cached(id)) {
    index_.erase(id);
    pool_.set_cached(id, false);
    ++evictions_;
  }
  return id;
}

std::optional<std::vector<BlockId>> KvCacheManager::allocate_slots(BlockTable& table,
                                                                   const PrefixHit& hit,
                                                                   std::int64_t num_tokens,
                                                                   std::int64_t spare_blocks) {
  CHECK(hit.blocks.empty() || table.blocks_.empty());
  const auto num_owned = static_cast<std::int64_t>(table.blocks_.size() + hit.blocks.size());
  const std::int64_t num_new =
      std::max<std::int64_t>(0, blocks_for(num_tokens, options_.block_size) - num_owned);
  // A hit block that nobody holds is free until it is held below, so it counts as needed.
  const auto num_free_hits = std::count_if(hit.blocks.begin(), hit.blocks.end(),
                                           [&](BlockId id) { return pool_.is_free(id); });
  if (num_new + num_free_hits + spare_blocks > pool_.num_free()) {
    return std::nullopt;
  }

  // All hits are held before the first block is taken: taking one could evict a hit.
  std::vector<BlockId> added = hit.blocks;
  for (const BlockId id : hit.blocks) {
    pool_.hold(id, HoldReason::kRequest);
  }
  for (std::int64_t i = 0; i < num_new; ++i) {
    added.push_back(take_block());
  }
  table.blocks_.insert(table.blocks_.end(), added.begin(), added.end());
  table.num_committed_ += static_cast<std::int64_t>(hit.blocks.size());
  return added;
}

void KvCacheManager::commit(BlockTable& table, std::span<const TokenId> tokens,
                            std::int64_t num_settled) {
  if (!options_.enable_prefix_caching) {
    return;
  }
  const std::int64_t num_full = num_settled / options_.block_size;
  if (num_full <= table.num_committed_) {
    return;
  }
  CHECK_LE(num_settled, static_cast<std::int64_t>(tokens.size()));
  CHECK_LE(num_full, static_cast<std::int64_t>(table.blocks_.size()));
  extend_hashes(table, tokens, num_full);
  for (std::int64_t i = table.num_committed_; i < num_full; ++i) {
    const BlockId id = table.blocks_[static_cast<std::size_t>(i)];
    index_.insert(table.hashes_[static_cast<std::size_t>(i)], id);
    pool_.set_cached(id, true);
  }
  table.num_committed_ = num_full;
}

void KvCacheManager::free(BlockTable& table) {
  std::reverse(table.blocks_.begin(), table.blocks_.end());
  pool_.release(table.blocks_, HoldReason::kRequest);
  table.blocks_.clear();
  table.num_committed_ = 0;
}

KvCacheStats KvCacheManager::stats() const {
  return {.num_blocks = pool_.num_blocks(),
          .num_free_blocks = pool_.num_free(),
          .num_cached_blocks = index_.size(),
          .evictions = evictions_};
}

void KvCacheManager::check_invariants() const {
  pool_.check_invariants();
  index_.check_invariants();
  for (std::int64_t i = 0; i < pool_.num_blocks(); ++i) {
    const auto id = static_cast<BlockId>(i);
    CHECK(pool_.is_cached(id) == index_.hash_of(id).has_value());
  }
}

}  // namespace godwit
