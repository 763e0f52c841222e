#pragma once
// What one forward pass may use.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/stream.h"
#include "kernels/params/dense.h"
#include "kernels/params/recurrent.h"
#include "tensor/tensor.h"

namespace godwit {

/// One layer's pages, or states. The first axis counts units of the cache's memory (see
/// kv/cache_layout.h), so pages overlap as views and only every so many of them are used.
struct LayerCache {
  Tensor k{};             ///< [places, num_kv_heads, block_size, key_dim]
  Tensor v{};             ///< [places, num_kv_heads, block_size, value_dim], or empty
  Tensor index{};         ///< [places, 1, block_size, index_dim], or empty
  Tensor conv{};          ///< [places, conv_channels, conv_inputs] f32, oldest first, or empty
  Tensor state{};         ///< [places, heads, rows, columns] f32, or empty
  std::size_t group = 0;  ///< Which tables name its pages.
};

/// Where this step's tokens stand in the pages of one group of layers. The tensors are those of
/// KvWriteParams and AttentionParams.
struct CacheTables {
  Tensor slots{};         ///< [tokens] i64
  Tensor block_tables{};  ///< [sequences, max_blocks] i32; negative where no page is kept
  StateTables states{};   ///< Of a group of states alone, which has no slots and block tables.
};

/// Where this step's tokens stand in their sequences and in the cache. The tensors are those of
/// RopeParams and AttentionParams.
struct AttentionMetadata {
  Tensor positions;                 ///< [tokens] i32
  Tensor query_start;               ///< [sequences + 1] i32
  Tensor context_lens;              ///< [sequences] i32
  std::vector<CacheTables> groups;  ///< One a group of layers.
};

struct Context {
  Stream& stream;
  Precision precision = Precision::kExact;
  AttentionMetadata attention;
  std::span<const LayerCache> caches;  ///< One a layer; empty ones for layers that store nothing.

  [[nodiscard]] const LayerCache& cache(std::int64_t layer) const {
    return caches[static_cast<std::size_t>(layer)];
  }
  [[nodiscard]] const CacheTables& tables(const LayerCache& cache) const {
    return attention.groups[cache.group];
  }
};

}  // namespace godwit
