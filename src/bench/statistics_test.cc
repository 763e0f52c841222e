#include "bench/statistics.h"

#include <vector>

#include <gtest/gtest.h>

namespace godwit {
namespace {

// The expected numbers are numpy's: mean, std and percentile of [4, 1, 3, 2, 10].
TEST(Statistics, AgreesWithNumpy) {
  const std::vector<double> values{4, 1, 3, 2, 10};
  EXPECT_DOUBLE_EQ(mean(values), 4.0);
  EXPECT_DOUBLE_EQ(standard_deviation(values), 3.1622776601683795);
  EXPECT_DOUBLE_EQ(percentile(values, 0), 1.0);
  EXPECT_DOUBLE_EQ(percentile(values, 50), 3.0);
  EXPECT_DOUBLE_EQ(percentile(values, 90), 7.6);
  EXPECT_DOUBLE_EQ(percentile(values, 99), 9.76);
  EXPECT_DOUBLE_EQ(percentile(values, 100), 10.0);
}

TEST(Statistics, OneValueAndNone) {
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{7}, 99), 7.0);
  EXPECT_DOUBLE_EQ(mean({}), 0.0);
  EXPECT_DOUBLE_EQ(standard_deviation({}), 0.0);
  EXPECT_DOUBLE_EQ(percentile({}, 50), 0.0);
}

}  // namespace
}  // namespace godwit
