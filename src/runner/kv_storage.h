#pragma once
// The memory that holds every layer's pages of keys and values.

#include <span>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "kv/kv_cache_spec.h"
#include "layers/context.h"

namespace godwit {

class KvStorage {
 public:
  /// Allocates num_blocks pages for each layer. Errors: kResourceExhausted.
  static Result<KvStorage> create(Device& device, const KvCacheSpec& spec, DType dtype,
                                  std::int64_t num_blocks);

  /// One entry a layer: [num_blocks, num_kv_heads, block_size, head_dim].
  [[nodiscard]] std::span<const LayerCache> layers() const { return layers_; }
  [[nodiscard]] std::size_t bytes() const { return buffer_.size(); }

 private:
  Buffer buffer_;
  std::vector<LayerCache> layers_;
};

}  // namespace godwit
