#include "sched/stop_rules.h"

#include <algorithm>

namespace godwit {

namespace {
bool contains(std::span<const TokenId> ids, TokenId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}
}  // namespace

std::optional<StopDecision> check_stop(const SamplingParams& sampling,
                                       std::span<const TokenId> eos_ids, TokenId token,
                                       std::int64_t num_output_tokens, std::int64_t num_tokens,
                                       std::int64_t max_model_len) {
  if (num_output_tokens >= sampling.min_tokens) {
    if (!sampling.ignore_eos && contains(eos_ids, token)) {
      return StopDecision{.reason = FinishReason::kStop, .stop_token = std::nullopt};
    }
    if (contains(sampling.stop_token_ids, token)) {
      return StopDecision{.reason = FinishReason::kStop, .stop_token = token};
    }
  }
  if (num_output_tokens >= sampling.max_tokens || num_tokens >= max_model_len) {
    return StopDecision{.reason = FinishReason::kLength, .stop_token = std::nullopt};
  }
  return std::nullopt;
}

}  // namespace godwit
