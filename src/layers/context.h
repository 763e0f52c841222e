#pragma once
// What one forward pass may use.

#include <span>

#include "device/stream.h"
#include "kernels/params/dense.h"
#include "tensor/tensor.h"

namespace godwit {

/// One layer's pages of keys and values: [num_blocks, num_kv_heads, block_size, head_dim].
struct LayerCache {
  Tensor k;
  Tensor v;
};

/// Where this step's tokens stand in their sequences and in the cache. The tensors are those of
/// KvWriteParams, RopeParams and AttentionParams.
struct AttentionMetadata {
  Tensor positions;     ///< [tokens] i32
  Tensor slots;         ///< [tokens] i64
  Tensor block_tables;  ///< [sequences, max_blocks] i32
  Tensor query_start;   ///< [sequences + 1] i32
  Tensor context_lens;  ///< [sequences] i32
};

struct Context {
  Stream& stream;
  Precision precision = Precision::kExact;
  AttentionMetadata attention;
  std::span<const LayerCache> caches;  ///< One a layer.
};

}  // namespace godwit
