#pragma once
// How a request wants its tokens drawn and when it wants to stop.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"

namespace godwit {

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

  std::int64_t max_tokens = 16;  ///< >= 1 tokens of output (0 with echo: the prompt alone)
  std::int64_t min_tokens = 0;   ///< Until then, end-of-sequence and stop ids are not drawn.
  bool ignore_eos = false;       ///< End-of-sequence tokens do not end the output.
  std::vector<TokenId> stop_token_ids;
  std::vector<std::string> stop;  ///< Strings that end the output.
  bool include_stop_str_in_output = false;
  bool skip_special_tokens = true;

  std::optional<std::int32_t> logprobs;         ///< Top alternatives reported with each token.
  std::optional<std::int32_t> prompt_logprobs;  ///< The same for the prompt's tokens.
};

/// Checks every range that does not need the model. Errors: kInvalidArgument naming the field, the
/// value and what is allowed.
Status validate(const SamplingParams& params);

}  // namespace godwit
