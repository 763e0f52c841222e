#pragma once
// How much memory a model takes, computed from its config and its files before anything is loaded.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/status.h"
#include "kv/cache_layout.h"
#include "kv/kv_cache_spec.h"
#include "models/model.h"
#include "tensor/dtype.h"

namespace godwit {

struct MemoryPlanOptions {
  std::optional<std::int64_t> max_model_len;  ///< Default: what the model was made for.
  std::optional<std::size_t> kv_cache_bytes;  ///< Default: see plan_memory().
  std::int64_t block_size = 16;
  std::int64_t max_num_seqs = 256;
  std::int64_t max_num_batched_tokens = 2048;  ///< Tokens of a step.
  DType kv_dtype = DType::kBF16;               ///< kF32 or kBF16
};

struct MemoryPlan {
  KvCacheSpec kv;      ///< What the layers store.
  CacheLayout layout;  ///< How it lies in memory.
  std::int64_t max_model_len = 0;
  std::size_t weight_bytes = 0;    ///< As stored; mapped, not copied, where the device allows.
  std::size_t sequence_bytes = 0;  ///< Of the cache, for one sequence of max_model_len.

  /// Tokens that the cache holds, in sequences of max_model_len.
  [[nodiscard]] std::int64_t kv_tokens() const;
};

/// Without kv_cache_bytes the cache gets half of the available memory, at most 4 GiB, and never
/// more than max_num_seqs sequences of max_model_len can fill. Errors: kInvalidArgument when
/// max_model_len is more than the model was made for, or the cache cannot hold one sequence of that
/// length; both say what would fit.
Result<MemoryPlan> plan_memory(const Model& model, std::size_t weight_bytes,
                               std::size_t available_bytes, const MemoryPlanOptions& options);

}  // namespace godwit
