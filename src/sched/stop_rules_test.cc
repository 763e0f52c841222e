#include "sched/stop_rules.h"

#include <array>

#include <gtest/gtest.h>

namespace godwit {
namespace {

constexpr std::array<TokenId, 2> kEos{7, 8};
constexpr std::int64_t kContext = 100;

SamplingParams up_to(std::int64_t max_tokens) {
  SamplingParams sampling;
  sampling.max_tokens = max_tokens;
  return sampling;
}

std::optional<StopDecision> check(const SamplingParams& sampling, TokenId token,
                                  std::int64_t num_output_tokens, std::int64_t num_tokens = 20) {
  std::vector<TokenId> output(static_cast<std::size_t>(num_output_tokens), 1);
  output.back() = token;
  return check_stop(sampling, kEos, output, num_tokens, kContext);
}

constexpr StopDecision kRepeats{.reason = FinishReason::kRepetition, .stop_token = std::nullopt};
constexpr StopDecision kEnd{.reason = FinishReason::kStop, .stop_token = std::nullopt};
constexpr StopDecision kFull{.reason = FinishReason::kLength, .stop_token = std::nullopt};

TEST(StopRules, GoOnWithoutAReason) {
  EXPECT_EQ(check(up_to(10), 1, 9), std::nullopt);
}

TEST(StopRules, AnyEndOfSequenceTokenStops) {
  EXPECT_EQ(check(up_to(10), 7, 1), kEnd);
  EXPECT_EQ(check(up_to(10), 8, 1), kEnd);
}

TEST(StopRules, EndOfSequenceCanBeIgnored) {
  SamplingParams sampling = up_to(10);
  sampling.ignore_eos = true;
  EXPECT_EQ(check(sampling, 7, 1), std::nullopt);
  sampling.stop_token_ids = {7};  // Asked for by name, it counts.
  EXPECT_EQ(check(sampling, 7, 1), (StopDecision{.reason = FinishReason::kStop, .stop_token = 7}));
}

TEST(StopRules, StopTokensAreReported) {
  SamplingParams sampling = up_to(10);
  sampling.stop_token_ids = {3, 4};
  EXPECT_EQ(check(sampling, 4, 2), (StopDecision{.reason = FinishReason::kStop, .stop_token = 4}));
  EXPECT_EQ(check(sampling, 5, 2), std::nullopt);
}

TEST(StopRules, LengthStops) {
  EXPECT_EQ(check(up_to(10), 1, 10), kFull);
  EXPECT_EQ(check(up_to(1), 1, 1), kFull);
  EXPECT_EQ(check(up_to(10), 1, 2, kContext - 1), std::nullopt);
  EXPECT_EQ(check(up_to(10), 1, 2, kContext), kFull);
}

TEST(StopRules, EndOfSequenceComesBeforeLength) {
  EXPECT_EQ(check(up_to(10), 7, 10), kEnd);
}

TEST(StopRules, MinTokensHoldsBackAllButLength) {
  SamplingParams sampling = up_to(10);
  sampling.min_tokens = 3;
  sampling.stop_token_ids = {4};
  EXPECT_EQ(check(sampling, 7, 2), std::nullopt);
  EXPECT_EQ(check(sampling, 4, 2), std::nullopt);
  EXPECT_EQ(check(sampling, 7, 3), kEnd);
  EXPECT_EQ(check(sampling, 1, 2, kContext), kFull);
}

TEST(StopRules, ARepeatedPatternEndsAnOutput) {
  const auto detect = [](std::int32_t max_size, std::int32_t min_size, std::int32_t count,
                         const std::vector<TokenId>& output) {
    return repeats_itself(
        {.max_pattern_size = max_size, .min_pattern_size = min_size, .min_count = count}, output);
  };
  EXPECT_TRUE(detect(2, 1, 3, {9, 1, 2, 1, 2, 1, 2}));
  EXPECT_TRUE(detect(2, 0, 3, {1, 2, 1, 2, 1, 2})) << "a smallest size of 0 means 1";
  EXPECT_FALSE(detect(2, 1, 4, {9, 1, 2, 1, 2, 1, 2})) << "three times only";
  EXPECT_FALSE(detect(1, 1, 3, {1, 2, 1, 2, 1, 2})) << "the pattern is longer";
  EXPECT_FALSE(detect(2, 1, 3, {1, 2, 1, 2, 1, 2, 3})) << "it must stand at the end";
  EXPECT_TRUE(detect(9, 3, 2, {1, 2, 3, 1, 2, 3}));
  EXPECT_TRUE(detect(4, 3, 2, {5, 5, 5, 5, 5, 5}));
  EXPECT_FALSE(detect(4, 4, 2, {5, 5, 5, 5, 5, 5})) << "eight tokens are needed";
  EXPECT_FALSE(detect(0, 0, 0, {5, 5, 5, 5}));
  EXPECT_FALSE(detect(2147483647, 2147483647, 2147483647, {5, 5}));
}

TEST(StopRules, RepetitionComesLastAndNotBeforeMinTokens) {
  SamplingParams sampling = up_to(10);
  sampling.repetition_detection = {.max_pattern_size = 2, .min_pattern_size = 1, .min_count = 3};
  EXPECT_EQ(check(sampling, 1, 3), kRepeats);
  EXPECT_EQ(check(sampling, 1, 2), std::nullopt);
  EXPECT_EQ(check(sampling, 1, 10), kFull);
  sampling.min_tokens = 4;
  EXPECT_EQ(check(sampling, 1, 3), std::nullopt);
  EXPECT_EQ(check(sampling, 1, 4), kRepeats);
}

}  // namespace
}  // namespace godwit
