#include "kv/kv_cache_spec.h"

#include <algorithm>

namespace godwit {

std::int64_t CacheGroup::width() const {
  std::int64_t width = 0;
  for (const LayerCacheSpec& layer : layers) {
    width += layer.width();
  }
  return width;
}

std::vector<CacheGroup> group_layers(std::span<const LayerCacheSpec> layers) {
  std::vector<CacheGroup> groups;
  for (const LayerCacheSpec& layer : layers) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const CacheGroup& candidate) {
      return candidate.retention == layer.retention;
    });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), {.retention = layer.retention, .layers = {}});
    }
    group->layers.push_back(layer);
  }
  return groups;
}

std::size_t KvCacheSpec::block_bytes(const CacheGroup& group) const {
  constexpr std::size_t kAlignment = 64;
  std::size_t bytes = static_cast<std::size_t>(group.width() * block_size) * element_size;
  for (const LayerCacheSpec& layer : group.layers) {
    bytes += static_cast<std::size_t>(layer.state.size()) * sizeof(float);
  }
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace godwit
