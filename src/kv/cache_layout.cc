#include "kv/cache_layout.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace godwit {
namespace {

/// A slab loses less than one part in so many of its bytes to a group whose blocks do not fill it.
constexpr std::size_t kMostLost = 16;

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
  // Positions before the step that it reads, and the step's own; they may start inside a block.
  const std::int64_t positions = retention.size - 1 + std::min(step_tokens, num_tokens);
  return std::min(all, blocks_for(positions, block_size) + 1);
}

void CacheLayout::add_growth(std::int64_t start, std::int64_t end, std::int64_t num_tokens,
                             std::int64_t step_tokens, BlockCounts& counts) const {
  counts.resize(groups.size());
  step_tokens = std::min(step_tokens, num_tokens - start);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const std::int64_t held =
        blocks_for(end, block_size) - groups[group].retention.first_needed(start) / block_size;
    counts[group] += std::max<std::int64_t>(0, most_blocks(group, num_tokens, step_tokens) - held);
  }
}

std::int64_t CacheLayout::most_slabs(std::int64_t num_tokens, std::int64_t step_tokens) const {
  std::int64_t slabs = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    slabs += blocks_for(most_blocks(group, num_tokens, step_tokens), groups[group].blocks_per_slab);
  }
  return slabs;
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
  for (std::size_t group = 0; group < spec.groups.size(); ++group) {
    layout.groups.push_back(
        {.retention = spec.groups[group].retention,
         .block_units = static_cast<std::int64_t>(block_bytes[group] / layout.unit_bytes),
         .blocks_per_slab = static_cast<std::int64_t>(slab / block_bytes[group])});
  }
  return layout;
}

}  // namespace godwit
