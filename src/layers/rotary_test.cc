// Frequencies against the published formulas, worked out by hand.

#include "layers/rotary.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace godwit {
namespace {

std::vector<float> frequencies(const RopeScaling& scaling) {
  return rope_frequencies(
      {.theta = 10000.0, .rotary_dim = 8, .scaling = scaling, .interleaved = false}, 512);
}

void expect_near(const std::vector<float>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 1e-6 * expected[i]) << "pair " << i;
  }
}

TEST(RotaryTest, DefaultLinearAndStoredFactors) {
  // theta^(-2i / 8) with theta = 10^4 is 10^-i.
  expect_near(frequencies(DefaultRope{}), {1.0, 0.1, 0.01, 0.001});
  expect_near(frequencies(LinearRope{.factor = 4.0}), {0.25, 0.025, 0.0025, 0.00025});
  expect_near(frequencies(FactorsRope{.factors = {1.0F, 2.0F, 4.0F, 8.0F}}),
              {1.0, 0.05, 0.0025, 0.000125});
}

TEST(RotaryTest, NtkGrowsTheta) {
  // 1000^(8 / 6) = 10^4, so theta is 10^8.
  expect_near(frequencies(NtkRope{.alpha = 1000.0}), {1.0, 0.01, 0.0001, 0.000001});
}

TEST(RotaryTest, Llama3KeepsShortWavesSlowsLongOnesAndBlendsBetween) {
  const Llama3Rope rope = {.factor = 8.0,
                           .low_freq_factor = 1.0,
                           .high_freq_factor = 4.0,
                           .original_max_positions = 1024.0};
  // Wavelengths 6.3 and 63 are below 1024 / 4, 628 lies between, 6283 is above 1024.
  const double turns = 1024.0 / (2.0 * std::numbers::pi / 0.01);
  const double smooth = (turns - 1.0) / (4.0 - 1.0);
  expect_near(frequencies(rope),
              {1.0, 0.1, (1.0 - smooth) * 0.01 / 8.0 + smooth * 0.01, 0.001 / 8.0});
}

TEST(RotaryTest, YarnKeepsFastPairsSlowsSlowOnesAndBlendsBetween) {
  // Pair i turns 1024 / (2 pi 10^i) times in the original context: beta_fast 32 is met at pair
  // log10(1024 / (64 pi)) = 0.707, beta_slow 1 at log10(1024 / (2 pi)) = 2.212.
  YarnRope rope = {
      .factor = 4.0, .beta_fast = 32.0, .beta_slow = 1.0, .original_max_positions = 1024.0};
  const auto blend = [](double ramp) { return ramp / 4.0 + 1.0 - ramp; };
  expect_near(frequencies(rope),  // The ramp goes from pair 0 to pair 3.
              {1.0, 0.1 * blend(1.0 / 3.0), 0.01 * blend(2.0 / 3.0), 0.001 / 4.0});
  rope.truncate = false;
  const double low = std::log10(1024.0 / (64.0 * std::numbers::pi));
  const double high = std::log10(1024.0 / (2.0 * std::numbers::pi));
  expect_near(frequencies(rope), {1.0, 0.1 * blend((1.0 - low) / (high - low)),
                                  0.01 * blend((2.0 - low) / (high - low)), 0.001 / 4.0});
}

TEST(RotaryTest, LongRopeChoosesItsListByTheLongestContext) {
  const LongRope rope = {.short_factors = {1.0F, 1.0F, 2.0F, 2.0F},
                         .long_factors = {1.0F, 2.0F, 4.0F, 8.0F},
                         .original_max_positions = 512};
  expect_near(frequencies(rope), {1.0, 0.1, 0.005, 0.0005});
  expect_near(rope_frequencies(
                  {.theta = 10000.0, .rotary_dim = 8, .scaling = rope, .interleaved = false}, 513),
              {1.0, 0.05, 0.0025, 0.000125});
}

TEST(RotaryTest, ProportionalRopeTurnsTheFirstPairsOfTheWholeHead) {
  expect_near(frequencies(ProportionalRope{.pairs = 2}), {1.0, 0.1, 0.0, 0.0});
  expect_near(frequencies(ProportionalRope{.pairs = 3, .factor = 4.0}), {0.25, 0.025, 0.0025, 0.0});
}

}  // namespace
}  // namespace godwit
