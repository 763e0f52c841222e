// What the sampler makes of rows that want different things in one step.

#include "sample/sampler.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "device/device.h"
#include "device/upload.h"

namespace godwit {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kVocabulary = 6;
constexpr std::int64_t kContext = 8;
const std::vector<TokenId> kEos = {5};

/// Rows of logits; row r has prompt {0, 1} and the output token 2 in row r of the token buffer.
class SamplerTest : public testing::TestWithParam<const char*> {
 protected:
  struct Wish {
    std::vector<float> logits;
    SamplingParams sampling;
  };

  static SamplingParams greedy() {
    SamplingParams sampling;
    sampling.temperature = 0.0F;
    return sampling;
  }

  std::vector<DrawnToken> draw(const std::vector<Wish>& wishes) {
    const Workspace::Scope scope(stream_->workspace());
    const auto count = static_cast<std::int64_t>(wishes.size());
    std::vector<float> flat;
    std::vector<std::int32_t> tokens;
    std::vector<SampleRow> rows;
    for (const Wish& wish : wishes) {
      flat.insert(flat.end(), wish.logits.begin(), wish.logits.end());
      rows.push_back({.sampling = &wish.sampling,
                      .seed = 3,
                      .buffer_row = static_cast<std::int32_t>(rows.size()),
                      .prompt_len = 2,
                      .total_len = 3,
                      .eos_ids = kEos});
      tokens.insert(tokens.end(), {0, 1, 2, -9, -9, -9, -9, -9});
    }
    Tensor logits = std::move(upload(*stream_, flat, {count, kVocabulary})).value();
    Tensor buffer = std::move(upload(*stream_, tokens, {count, kContext})).value();
    std::vector<DrawnToken> drawn = std::move(draw_tokens(*stream_, logits, buffer, rows)).value();
    EXPECT_TRUE(download(*stream_, buffer, tokens).ok());
    EXPECT_TRUE(stream_->synchronize().ok());
    for (std::size_t r = 0; r < wishes.size(); ++r) {
      EXPECT_EQ(tokens[r * kContext + 3], drawn[r].token) << "the next step reads it there";
      EXPECT_EQ(tokens[r * kContext + 4], -9);
    }
    return drawn;
  }

  std::unique_ptr<Device> device_ =
      std::move(create_device("cpu", {.threads = 2, .isa = GetParam()})).value();
  std::unique_ptr<Stream> stream_ = std::move(device_->create_stream()).value();
};

const std::vector<float> kRow = {0.5F, -0.0F, 3.0F, 2.0F, -1.0F, 4.0F};

TEST_P(SamplerTest, MinTokensBansEndAndStopIdsUntilThen) {
  SamplingParams late = greedy();
  late.min_tokens = 2;
  late.stop_token_ids = {2, 77, -1};
  SamplingParams reached = late;
  reached.min_tokens = 1;
  const std::vector<DrawnToken> drawn = draw({{kRow, greedy()}, {kRow, late}, {kRow, reached}});
  EXPECT_EQ(drawn[0].token, 5);
  EXPECT_EQ(drawn[1].token, 3) << "5 is the end of sequence and 2 a stop id";
  EXPECT_EQ(drawn[2].token, 5);
}

TEST_P(SamplerTest, LogprobsAreEachRowsOwnAndAtMostTheVocabulary) {
  SamplingParams all = greedy();
  all.logprobs = 20;
  SamplingParams none = greedy();
  none.logprobs = 0;
  none.logit_bias = {{4, 100.0F}};
  const std::vector<DrawnToken> drawn = draw({{kRow, all}, {kRow, greedy()}, {kRow, none}});
  ASSERT_TRUE(drawn[0].logprob.has_value());
  EXPECT_EQ(drawn[0].logprob->top.size(), static_cast<std::size_t>(kVocabulary));
  EXPECT_EQ(drawn[0].logprob->top.front().first, 5);
  EXPECT_FALSE(drawn[1].logprob.has_value());
  ASSERT_TRUE(drawn[2].logprob.has_value());
  EXPECT_TRUE(drawn[2].logprob->top.empty());
  // The token is the biased one; its log probability is the model's.
  EXPECT_EQ(drawn[2].token, 4);
  EXPECT_EQ(drawn[2].logprob->rank, 6);
  EXPECT_NEAR(drawn[2].logprob->logprob, drawn[0].logprob->top.back().second, 0.0);
}

TEST_P(SamplerTest, ARowIsTheSameBesideOneThatIsProcessed) {
  const float inf = std::numeric_limits<float>::infinity();
  SamplingParams random;
  random.logprobs = 6;
  SamplingParams penalized = random;
  penalized.repetition_penalty = 1.5F;
  penalized.presence_penalty = 0.5F;
  for (const std::vector<float>& row :
       {kRow, std::vector<float>{kNaN, -0.0F, 0.0F, -inf, 1e-40F, 1.0F},
        std::vector<float>{-0.0F, -0.0F, -0.0F, -0.0F, -0.0F, -0.0F}}) {
    const DrawnToken alone = draw({{row, random}}).front();
    const DrawnToken beside = draw({{kRow, penalized}, {row, random}}).back();
    EXPECT_EQ(alone.token, beside.token);
    ASSERT_EQ(alone.logprob->top.size(), beside.logprob->top.size());
    for (std::size_t i = 0; i < alone.logprob->top.size(); ++i) {
      EXPECT_EQ(alone.logprob->top[i].first, beside.logprob->top[i].first);
      EXPECT_EQ(std::memcmp(&alone.logprob->top[i].second, &beside.logprob->top[i].second, 4), 0);
    }
  }
}

TEST_P(SamplerTest, PenaltiesReadTheTokenBuffer) {
  SamplingParams repeated = greedy();
  repeated.repetition_penalty = 4.0F;  // Of 0, 1 and 2, which are in the buffer.
  SamplingParams present = greedy();
  present.presence_penalty = 2.0F;  // Of 2 alone, which is output.
  const std::vector<float> row = {2.9F, 0.0F, 3.0F, 1.0F, 0.0F, 0.0F};
  const std::vector<DrawnToken> drawn = draw({{row, repeated}, {row, present}, {row, greedy()}});
  EXPECT_EQ(drawn[0].token, 3);
  EXPECT_EQ(drawn[1].token, 0);
  EXPECT_EQ(drawn[2].token, 2);
}

TEST_P(SamplerTest, TokenRulesBindTheirOwnRowAlone) {
  const auto ruled = [](TokenRules rules) {
    SamplingParams sampling = greedy();
    sampling.token_rules = std::make_shared<const TokenRules>(std::move(rules));
    return sampling;
  };
  SamplingParams wishful = ruled({.allowed = {0, 4}, .banned = {}});
  wishful.logit_bias = {{3, 100.0F}};  // A bias does not bring back what is not allowed.
  wishful.logprobs = 1;
  const std::vector<DrawnToken> drawn = draw({
      {kRow, ruled({.allowed = {0, 1, 3}, .banned = {}})},
      {kRow, greedy()},
      {kRow, ruled({.allowed = {}, .banned = {{5}, {2, 2}, {1, 2, 3}}})},
      {kRow, ruled({.allowed = {}, .banned = {{2, 5}}})},
      {kRow, wishful},
      {kRow, ruled({.allowed = {2}, .banned = {{2}}})},
  });
  EXPECT_EQ(drawn[0].token, 3);
  EXPECT_EQ(drawn[1].token, 5);
  // The output is {2}: so {2, 2} bans 2, but {1, 2, 3} would need the prompt's 1.
  EXPECT_EQ(drawn[2].token, 3);
  EXPECT_EQ(drawn[3].token, 2);
  EXPECT_EQ(drawn[4].token, 0);
  EXPECT_EQ(drawn[4].logprob->top.front().first, 5) << "log probabilities are the model's own";
  EXPECT_EQ(drawn[5].token, -1);
}

TEST_P(SamplerTest, ChosenLogprobsAreEachRowsOwn) {
  SamplingParams two = greedy();
  two.logprobs = 0;
  two.logprob_token_ids = {4, 5};
  SamplingParams one = greedy();
  one.logprobs = 1;
  one.logprob_token_ids = {0};
  SamplingParams none = greedy();
  none.logprobs = 6;
  const std::vector<DrawnToken> drawn = draw({{kRow, two}, {kRow, one}, {kRow, none}});
  const std::vector<std::pair<TokenId, float>>& top = drawn[2].logprob->top;
  using List = std::vector<std::pair<TokenId, float>>;
  EXPECT_EQ(top.size(), 6U);
  EXPECT_EQ(drawn[0].logprob->top, (List{{4, top[5].second}, {5, drawn[0].logprob->logprob}}));
  EXPECT_EQ(drawn[1].logprob->top, (List{{0, top[3].second}}));
}

TEST_P(SamplerTest, ARowWithoutNumbersDrawsNothing) {
  const std::vector<DrawnToken> drawn =
      draw({{std::vector<float>(kVocabulary, kNaN), SamplingParams()}, {kRow, greedy()}});
  EXPECT_EQ(drawn[0].token, -1);
  EXPECT_EQ(drawn[1].token, 5);
}

INSTANTIATE_TEST_SUITE_P(Kernels, SamplerTest, testing::Values("ref", "generic"));

}  // namespace
}  // namespace godwit
