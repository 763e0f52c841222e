#include "runner/memory_plan.h"

#include <algorithm>
#include <limits>
#include <string>

namespace godwit {
namespace {

// Each sequence has a row of the token buffer; more than this is a mistake.
constexpr std::int64_t kMaxSequences = 65536;
// Places of blocks are 32 bits wide in block tables.
constexpr std::int64_t kMaxPlaces = std::numeric_limits<std::int32_t>::max();

/// The longest sequence that fits the cache alone.
std::int64_t longest_sequence(const MemoryPlan& plan, const MemoryPlanOptions& options) {
  std::int64_t fits = 0;
  std::int64_t too_long = plan.max_model_len;
  while (too_long - fits > 1) {
    const std::int64_t middle = fits + (too_long - fits) / 2;
    const bool fit =
        plan.layout.most_slabs(middle, options.max_num_batched_tokens) <= plan.layout.num_slabs;
    (fit ? fits : too_long) = middle;
  }
  return fits;
}

}  // namespace

Result<MemoryPlan> plan_memory(const Model& model, std::size_t weight_bytes,
                               std::size_t available_bytes, const MemoryPlanOptions& options) {
  constexpr std::size_t kLargestDefault = std::size_t{4} << 30;
  MemoryPlan plan;
  const std::int64_t made_for = model.geometry().max_positions;
  plan.max_model_len = options.max_model_len.value_or(made_for);
  if (plan.max_model_len < 1 || plan.max_model_len > made_for) {
    return invalid_argument("max_model_len is " + std::to_string(plan.max_model_len) +
                                ", but the model was made for " + std::to_string(made_for) +
                                " tokens",
                            "give --max-model-len from 1 to " + std::to_string(made_for));
  }
  if (options.block_size < 1 || options.block_size > 4096) {
    return invalid_argument("block_size is " + std::to_string(options.block_size),
                            "give --block-size from 1 to 4096");
  }
  if (options.max_num_seqs < 1 || options.max_num_seqs > kMaxSequences) {
    return invalid_argument("max_num_seqs is " + std::to_string(options.max_num_seqs),
                            "give --max-num-seqs from 1 to " + std::to_string(kMaxSequences));
  }
  plan.kv = {.groups = group_layers(model.cache_specs()),
             .element_size = block_bytes(options.kv_dtype),
             .block_size = options.block_size};
  plan.weight_bytes = weight_bytes;

  const std::size_t budget =
      options.kv_cache_bytes.value_or(std::min(available_bytes / 2, kLargestDefault));
  plan.layout = make_cache_layout(plan.kv, budget);
  CacheLayout& layout = plan.layout;
  const std::int64_t one_sequence =
      layout.most_slabs(plan.max_model_len, options.max_num_batched_tokens);
  plan.sequence_bytes = static_cast<std::size_t>(one_sequence) * layout.slab_bytes();
  if (layout.num_slabs < one_sequence) {
    const std::int64_t fitting = longest_sequence(plan, options);
    return invalid_argument(
        "a cache of " + std::to_string(budget) + " bytes holds a sequence of " +
            std::to_string(fitting) + " tokens, not one of " + std::to_string(plan.max_model_len),
        "give --kv-cache-memory-bytes " + std::to_string(plan.sequence_bytes) +
            " or more, or --max-model-len " + std::to_string(fitting) + " or less");
  }
  layout.num_slabs = std::min(
      {layout.num_slabs, one_sequence * options.max_num_seqs, kMaxPlaces / layout.slab_units});
  return plan;
}

std::int64_t MemoryPlan::kv_tokens() const {
  return static_cast<std::int64_t>(layout.bytes() / sequence_bytes) * max_model_len +
         static_cast<std::int64_t>(layout.bytes() % sequence_bytes) * max_model_len /
             static_cast<std::int64_t>(sequence_bytes);
}

}  // namespace godwit
