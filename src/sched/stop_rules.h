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

/// Decides after `token` was appended as output token number `num_output_tokens` (counted from 1)
/// of a sequence of now `num_tokens` tokens. End of sequence comes before stop ids, and both before
/// length; neither counts before min_tokens.
std::optional<StopDecision> check_stop(const SamplingParams& sampling,
                                       std::span<const TokenId> eos_ids, TokenId token,
                                       std::int64_t num_output_tokens, std::int64_t num_tokens,
                                       std::int64_t max_model_len);

}  // namespace godwit
