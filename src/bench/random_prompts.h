#pragma once
// Prompts of random tokens, as vLLM's "random" data set makes them: lengths around a given one, and
// a beginning that all prompts share.

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/status.h"

namespace godwit {

struct RandomPrompts {
  std::int64_t count = 1000;
  std::int64_t input_len = 1024;  ///< Tokens after the shared beginning.
  std::int64_t output_len = 128;
  std::int64_t prefix_len = 0;  ///< Tokens that all prompts begin with.
  double range_ratio = 0.0;     ///< Lengths lie within (1 - ratio, 1 + ratio) times the asked.
  std::uint64_t seed = 0;
};

struct RandomPrompt {
  std::vector<TokenId> tokens;
  std::int64_t output_len = 0;
};

/// Draws tokens from `vocabulary`, which must not be empty. Equal options give equal prompts.
/// Errors: kInvalidArgument naming the flag of a number that cannot be.
Result<std::vector<RandomPrompt>> draw_prompts(const RandomPrompts& options,
                                               const std::vector<TokenId>& vocabulary);

}  // namespace godwit
