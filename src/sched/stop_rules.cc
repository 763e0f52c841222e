#include "sched/stop_rules.h"

#include <algorithm>

namespace godwit {

namespace {
bool contains(std::span<const TokenId> ids, TokenId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}
}  // namespace

bool repeats_itself(const RepetitionDetection& detection, std::span<const TokenId> output) {
  const auto length = static_cast<std::int64_t>(output.size());
  const std::int64_t count = detection.min_count;
  for (std::int64_t size = std::max(detection.min_pattern_size, 1);
       size <= detection.max_pattern_size && size * count <= length; ++size) {
    // Equal patterns side by side: every token equals the one a pattern earlier.
    const std::span<const TokenId> tail = output.last(static_cast<std::size_t>(size * count));
    const auto shift = static_cast<std::ptrdiff_t>(size);
    if (std::equal(tail.rbegin(), tail.rend() - shift, tail.rbegin() + shift)) {
      return true;
    }
  }
  return false;
}

std::optional<StopDecision> check_stop(const SamplingParams& sampling,
                                       std::span<const TokenId> eos_ids,
                                       std::span<const TokenId> output, std::int64_t num_tokens,
                                       std::int64_t max_model_len) {
  const auto num_output_tokens = static_cast<std::int64_t>(output.size());
  const TokenId token = output.back();
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
  if (num_output_tokens >= sampling.min_tokens &&
      repeats_itself(sampling.repetition_detection, output)) {
    return StopDecision{.reason = FinishReason::kRepetition, .stop_token = std::nullopt};
  }
  return std::nullopt;
}

}  // namespace godwit
