#include "kv/cache_layout.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace godwit {
namespace {

/// A slab loses less than one part in so many of its bytes to a group whose blocks do not fill it.
constexpr std::size_t kMostLost = 16;

/// A sequence changes one state in place; while a step goes from a state that the prefix cache
/// keeps to the next one there are two.
constexpr std::int64_t kMostStates = 2;

/// States lie so far apart that they take no more memory than twice what the tokens between them
/// take in other groups, within these bounds (tokens).
constexpr std::int64_t kLeastSpacing = 128;
constexpr std::int64_t kMostSpacing = 1024;

std::int64_t state_spacing(std::size_t state_bytes, std::size_t other_bytes,
                           std::int64_t block_size) {
  const std::int64_t least = blocks_for(kLeastSpacing, block_size);
  const std::int64_t most = blocks_for(kMostSpacing, block_size);
  if (other_bytes == 0) {
    return most;
  }
  return std::clamp(static_cast<std::int64_t>(state_bytes / (2 * other_bytes)), least, most);
}

bool fills(std::size_t slab, const std::vector<std::size_t>& block_bytes) {
  return std::all_of(block_bytes.begin(), block_bytes.end(),
                     [&](std::size_t bytes) { return slab % bytes <= slab / kMostLost; });
}

}  // namespace

CacheLayout CacheLayout::single(std::int64_t num_blocks, std::int64_t block_size) {
  return {.block_size = block_size,
          .unit_bytes = 1,
          .slab_units = 1,
          .num_slabs = num_blocks,
          .groups = {GroupLayout{}}};
}

std::int64_t CacheLayout::place(std::size_t group, BlockId id) const {
  if (id == kNoBlock) {
    return -1;
  }
  const GroupLayout& layout = groups[group];
  const auto index = static_cast<std::int64_t>(id);
  return index / layout.blocks_per_slab * slab_units +
         index % layout.blocks_per_slab * layout.block_units;
}

std::int64_t CacheLayout::most_blocks(std::size_t group, std::int64_t num_tokens,
                                      std::int64_t step_tokens) const {
  const Retention& retention = groups[group].retention;
  const std::int64_t all = blocks_for(num_tokens, block_size);
  if (retention.kind == Retention::Kind::kAll) {
    return all;
  }
  if (retention.kind == Retention::Kind::kState) {
    return std::min(all, kMostStates);
  }
  // Positions before the step that it reads, and the step's own; they may start inside a block.
  const std::int64_t positions = retention.size - 1 + std::min(step_tokens, num_tokens);
  return std::min(all, blocks_for(positions, block_size) + 1);
}

void CacheLayout::add_growth(std::int64_t start, std::int64_t end, std::int64_t num_tokens,
                             std::int64_t step_tokens, BlockCounts& counts) const {
  counts.resize(groups.size());
  step_tokens = std::min(step_tokens, num_tokens - start);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const std::int64_t held = groups[group].is_state()
                                  ? std::min<std::int64_t>(end, 1)
                                  : blocks_for(end, block_size) -
                                        groups[group].retention.first_needed(start) / block_size;
    counts[group] += std::max<std::int64_t>(0, most_blocks(group, num_tokens, step_tokens) - held);
  }
}

std::int64_t CacheLayout::slabs_for(const BlockCounts& counts) const {
  std::int64_t slabs = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    slabs += blocks_for(counts[group], groups[group].blocks_per_slab);
  }
  return slabs;
}

std::int64_t CacheLayout::most_slabs(std::int64_t num_tokens, std::int64_t step_tokens) const {
  BlockCounts counts;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    counts.push_back(most_blocks(group, num_tokens, step_tokens));
  }
  return slabs_for(counts);
}

CacheLayout make_cache_layout(const KvCacheSpec& spec, std::size_t bytes) {
  CHECK(!spec.groups.empty());
  std::vector<std::size_t> block_bytes;
  for (const CacheGroup& group : spec.groups) {
    block_bytes.push_back(spec.block_bytes(group));
  }
  const std::size_t largest = *std::max_element(block_bytes.begin(), block_bytes.end());
  std::size_t slab = largest;
  while (!fills(slab, block_bytes)) {
    slab += largest;
  }

  CacheLayout layout;
  layout.block_size = spec.block_size;
  layout.unit_bytes = std::accumulate(block_bytes.begin(), block_bytes.end(), std::size_t{0},
                                      [](std::size_t a, std::size_t b) { return std::gcd(a, b); });
  layout.slab_units = static_cast<std::int64_t>(slab / layout.unit_bytes);
  layout.num_slabs = static_cast<std::int64_t>(bytes / slab);
  std::size_t token_bytes = 0;  // Of a block of tokens, in the groups that keep all.
  for (std::size_t group = 0; group < spec.groups.size(); ++group) {
    token_bytes +=
        spec.groups[group].retention.kind == Retention::Kind::kAll ? block_bytes[group] : 0;
  }
  for (std::size_t group = 0; group < spec.groups.size(); ++group) {
    layout.groups.push_back(
        {.retention = spec.groups[group].retention,
         .block_units = static_cast<std::int64_t>(block_bytes[group] / layout.unit_bytes),
         .blocks_per_slab = static_cast<std::int64_t>(slab / block_bytes[group]),
         .state_spacing = state_spacing(block_bytes[group], token_bytes, spec.block_size)});
  }
  return layout;
}

}  // namespace godwit
