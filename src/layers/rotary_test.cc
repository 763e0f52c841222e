// Frequencies against the published formulas, worked out by hand.

#include "layers/rotary.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace godwit {
namespace {

std::vector<float> frequencies(const RopeScaling& scaling) {
  return rope_frequencies(
      {.theta = 10000.0, .rotary_dim = 8, .scaling = scaling, .interleaved = false});
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

}  // namespace
}  // namespace godwit
