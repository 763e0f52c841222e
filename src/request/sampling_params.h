#pragma once
// How a request wants its tokens drawn and when it wants to stop.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"

namespace godwit {

/// Which tokens may be drawn at all.
struct TokenRules {
  std::vector<TokenId> allowed;  ///< These alone, ascending; empty allows all.
  /// Sequences that the output must not contain; each at least one token.
  std::vector<std::vector<TokenId>> banned;
};

/// Ends an output that has begun to repeat itself: when its last tokens are `min_count` times the
/// same pattern of min_pattern_size to max_pattern_size tokens.
struct RepetitionDetection {
  std::int32_t max_pattern_size = 0;  ///< 0 = off
  std::int32_t min_pattern_size = 0;  ///< 0 means 1
  std::int32_t min_count = 0;         ///< >= 2
};

/// The names and defaults are vLLM's.
struct SamplingParams {
  float temperature = 1.0F;          ///< >= 0; 0 takes the most likely token.
  float top_p = 1.0F;                ///< (0, 1]
  std::int32_t top_k = 0;            ///< 0 or -1 = off
  float min_p = 0.0F;                ///< [0, 1]
  float repetition_penalty = 1.0F;   ///< > 0, 1 = off
  float presence_penalty = 0.0F;     ///< [-2, 2]
  float frequency_penalty = 0.0F;    ///< [-2, 2]
  std::optional<std::int64_t> seed;  ///< Without one, the engine draws a seed for the request.
  std::vector<std::pair<TokenId, float>> logit_bias;  ///< Added to the logits before penalties.
  /// allowed_token_ids and bad_words; null for none. Shared, because every output of a request has
  /// these parameters and the lists may be long.
  std::shared_ptr<const TokenRules> token_rules;

  std::int64_t max_tokens = 16;  ///< >= 1 tokens of output (0 with echo: the prompt alone)
  std::int64_t min_tokens = 0;   ///< Until then, end-of-sequence and stop ids are not drawn.
  bool ignore_eos = false;       ///< End-of-sequence tokens do not end the output.
  std::vector<TokenId> stop_token_ids;
  RepetitionDetection repetition_detection;
  std::vector<std::string> stop;  ///< Strings that end the output.
  bool include_stop_str_in_output = false;
  bool skip_special_tokens = true;

  std::optional<std::int32_t> logprobs;         ///< Top alternatives reported with each token.
  std::optional<std::int32_t> prompt_logprobs;  ///< The same for the prompt's tokens.
  /// Reported with each token in place of the top alternatives, when logprobs is set.
  std::vector<TokenId> logprob_token_ids;
};

/// Checks every range that does not need the model. Errors: kInvalidArgument naming the field, the
/// value and what is allowed.
Status validate(const SamplingParams& params);

}  // namespace godwit
