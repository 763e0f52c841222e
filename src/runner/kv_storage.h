#pragma once
// The memory that holds every layer's pages and states.

#include <span>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "kv/cache_layout.h"
#include "kv/kv_cache_spec.h"
#include "layers/context.h"

namespace godwit {

class KvStorage {
 public:
  /// Allocates the memory of `layout`. A block is the pages (or states) of its group's layers, one
  /// after the other. Errors: kResourceExhausted.
  static Result<KvStorage> create(Device& device, const KvCacheSpec& spec,
                                  const CacheLayout& layout, DType dtype, std::int64_t num_layers);

  /// One entry a layer of the model.
  [[nodiscard]] std::span<const LayerCache> layers() const { return layers_; }
  [[nodiscard]] Buffer& buffer() { return buffer_; }

 private:
  Buffer buffer_;
  std::vector<LayerCache> layers_;
};

}  // namespace godwit
