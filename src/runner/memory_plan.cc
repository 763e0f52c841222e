#include "runner/memory_plan.h"

#include <algorithm>
#include <limits>
#include <string>

namespace godwit {
namespace {

// Each sequence has a row of the token buffer; more than this is a mistake.
constexpr std::int64_t kMaxSequences = 65536;
constexpr std::int64_t kMaxBlocks = std::numeric_limits<std::int32_t>::max();  // As BlockId.

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
  plan.kv = model.kv_cache_spec();
  plan.kv.element_size = block_bytes(options.kv_dtype);
  plan.kv.block_size = options.block_size;
  plan.weight_bytes = weight_bytes;

  const std::int64_t one_sequence = blocks_for(plan.max_model_len, options.block_size);
  const std::size_t budget =
      options.kv_cache_bytes.value_or(std::min(available_bytes / 2, kLargestDefault));
  const auto fitting = static_cast<std::int64_t>(budget / plan.kv.block_bytes());
  if (fitting < one_sequence) {
    return invalid_argument(
        "a cache of " + std::to_string(budget) + " bytes holds " +
            std::to_string(fitting * options.block_size) + " tokens, less than one sequence of " +
            std::to_string(plan.max_model_len),
        "give --kv-cache-memory-bytes " +
            std::to_string(static_cast<std::size_t>(one_sequence) * plan.kv.block_bytes()) +
            " or more, or --max-model-len " + std::to_string(fitting * options.block_size) +
            " or less");
  }
  plan.num_blocks = std::min({fitting, one_sequence * options.max_num_seqs, kMaxBlocks});
  plan.kv_cache_bytes = static_cast<std::size_t>(plan.num_blocks) * plan.kv.block_bytes();
  return plan;
}

}  // namespace godwit
