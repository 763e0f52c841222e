#pragma once
// Means and percentiles of measured times, as numpy computes them.

#include <span>

namespace godwit {

/// 0 without values.
double mean(std::span<const double> values);
/// The population's standard deviation; 0 without values.
double standard_deviation(std::span<const double> values);
/// The value below which `percent` of 100 lie, with linear interpolation between neighbours; 0
/// without values.
double percentile(std::span<const double> values, double percent);

}  // namespace godwit
