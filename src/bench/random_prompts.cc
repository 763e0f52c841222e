#include "bench/random_prompts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>

namespace godwit {
namespace {

/// All prompts of a run are in memory at once.
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 28;

Status check(const RandomPrompts& options) {
  const auto refuse = [](const char* flag, std::int64_t value, const char* allowed) {
    return invalid_argument(std::string(flag) + " is " + std::to_string(value), allowed);
  };
  if (options.count < 1 || options.count > kMaxTokens) {
    return refuse("--num-prompts", options.count, "give 1 or more");
  }
  if (options.input_len < 1 || options.input_len > kMaxTokens) {
    return refuse("--random-input-len", options.input_len, "give 1 or more");
  }
  if (options.output_len < 1 || options.output_len > kMaxTokens) {
    return refuse("--random-output-len", options.output_len, "give 1 or more");
  }
  if (options.prefix_len < 0 || options.prefix_len > kMaxTokens) {
    return refuse("--random-prefix-len", options.prefix_len, "give 0 or more");
  }
  if (!(options.range_ratio >= 0.0 && options.range_ratio < 1.0)) {
    return invalid_argument("--random-range-ratio is " + std::to_string(options.range_ratio),
                            "give 0 or more, and less than 1");
  }
  if (2 * (options.prefix_len + options.input_len) > kMaxTokens / options.count) {
    return invalid_argument("the prompts hold too many tokens", "ask for fewer or shorter ones");
  }
  return {};
}

}  // namespace

Result<std::vector<RandomPrompt>> draw_prompts(const RandomPrompts& options,
                                               const std::vector<TokenId>& vocabulary) {
  TRY(check(options));
  CHECK(!vocabulary.empty());
  std::mt19937_64 random(options.seed);
  std::uniform_int_distribution<std::size_t> place(0, vocabulary.size() - 1);
  const auto draw_length = [&](std::int64_t middle) {
    const auto spread =
        static_cast<std::int64_t>(std::floor(static_cast<double>(middle) * options.range_ratio));
    std::uniform_int_distribution<std::int64_t> length(std::max<std::int64_t>(1, middle - spread),
                                                       middle + spread);
    return length(random);
  };
  std::vector<TokenId> prefix;
  for (std::int64_t i = 0; i < options.prefix_len; ++i) {
    prefix.push_back(vocabulary[place(random)]);
  }
  std::vector<RandomPrompt> prompts(static_cast<std::size_t>(options.count));
  for (RandomPrompt& prompt : prompts) {
    prompt.tokens = prefix;
    const std::int64_t length = draw_length(options.input_len);
    for (std::int64_t i = 0; i < length; ++i) {
      prompt.tokens.push_back(vocabulary[place(random)]);
    }
    prompt.output_len = draw_length(options.output_len);
  }
  return prompts;
}

}  // namespace godwit
