#pragma once
// What a client asks of the engine, and what the engine answers: plain values that server/, engine/
// and sched/ share.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "request/sampling_params.h"

namespace godwit {

/// One prompt and how to go on from it. Immutable once it is submitted.
struct Request {
  std::string id;               ///< For logs and responses; unique among running requests.
  std::vector<TokenId> prompt;  ///< At least one token.
  SamplingParams sampling;
  std::int32_t n = 1;         ///< How many outputs; output i is drawn with seed + i.
  std::int32_t priority = 0;  ///< Lower runs earlier, when the server schedules by priority.
  std::string cache_salt;     ///< Requests share cached prefixes only under the same salt.
  bool detokenize = true;     ///< Whether text is wanted; always false without a tokenizer.
};

enum class FinishReason : std::uint8_t {
  kStop,        ///< End of sequence, a stop token or a stop string.
  kLength,      ///< max_tokens or the model's context is full.
  kAbort,       ///< The client left, or the engine was told to drop the request.
  kError,       ///< A fault; `Delta::error` says which.
  kRepetition,  ///< repetition_detection found that the output repeats itself.
};

/// "stop", "length", "abort", "error" or "repetition".
std::string_view to_string(FinishReason reason);

/// A token with its log probability, and the most likely alternatives at its place.
struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0.0F;
  std::int32_t rank = 0;  ///< 1 for the most likely token.
  /// Most likely first, or those of logprob_token_ids, in its order.
  std::vector<std::pair<TokenId, float>> top;
};

/// What one step adds to one output of a request.
struct Delta {
  std::int32_t index = 0;              ///< Which of the request's n outputs.
  std::string text;                    ///< New text; stop strings are held back and cut off.
  std::vector<TokenId> token_ids;      ///< New tokens. Their text may come in a later delta.
  std::vector<TokenLogprob> logprobs;  ///< One for each of token_ids, when asked for.
  std::optional<FinishReason> finish_reason;
  /// What ended the output: a stop string, or a stop token's id (absent for end of sequence).
  std::optional<std::string> stop_string;
  std::optional<TokenId> stop_token;
  Status error;                    ///< Set with FinishReason::kError.
  std::int64_t cached_tokens = 0;  ///< Prompt tokens taken from the prefix cache.
  /// With the first delta of output 0, when prompt_logprobs was asked for: one entry for each
  /// prompt token but the first.
  std::vector<TokenLogprob> prompt_logprobs;
};

}  // namespace godwit
