#pragma once
// When a sequence ends because of its tokens. Stop strings need text and are the engine's business.

#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.h"
#include "request/request.h"
#include "request/sampling_params.h"

namespace godwit {

/// Why and with which stop token a sequence ends.
struct StopDecision {
  FinishReason reason = FinishReason::kStop;
  std::optional<TokenId> stop_token;  ///< Set when one of stop_token_ids ended it.

  friend bool operator==(const StopDecision&, const StopDecision&) = default;
};

/// Decides after the last token of `output`, which holds at least one, was appended to a sequence
/// that now has `num_tokens` tokens. End of sequence comes before stop ids, both before length, and
/// length before repetition; nothing but length counts before min_tokens.
std::optional<StopDecision> check_stop(const SamplingParams& sampling,
                                       std::span<const TokenId> eos_ids,
                                       std::span<const TokenId> output, std::int64_t num_tokens,
                                       std::int64_t max_model_len);

/// Whether the output ends with `min_count` times the same pattern. Constant memory; time at most
/// max_pattern_size times the output, and usually one comparison a size.
bool repeats_itself(const RepetitionDetection& detection, std::span<const TokenId> output);

}  // namespace godwit
