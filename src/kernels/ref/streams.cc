#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ref/element.h"
#include "kernels/ref/ref_kernels.h"

namespace godwit::ref {
namespace {

double number(const Tensor& matrix, std::int64_t row, std::int64_t column) {
  return static_cast<double>(float_row(matrix, row)[column]);
}

/// Mean of (x - centre)^2.
double spread(const Tensor& x, std::int64_t row, double centre) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < x.dim(1); ++i) {
    sum += (number(x, row, i) - centre) * (number(x, row, i) - centre);
  }
  return sum / static_cast<double>(x.dim(1));
}

}  // namespace

Status mix_streams(Stream& /*stream*/, const MixStreamsParams& params) {
  const std::int64_t streams = params.x.dim(0);
  for (std::int64_t j = 0; j < streams; ++j) {
    for (std::int64_t t = 0; t < params.x.dim(1); ++t) {
      for (std::int64_t c = 0; c < params.x.dim(2); ++c) {
        double sum = params.mix.empty() ? number(params.x.entry(j), t, c) : 0.0;
        for (std::int64_t i = 0; !params.mix.empty() && i < streams; ++i) {
          sum += number(params.mix, t, j * streams + i) * number(params.x.entry(i), t, c);
        }
        if (!params.y.empty()) {
          sum += number(params.gain, t, j) * number(params.y, t, c);
        }
        float_row(params.out.entry(j), t)[c] = static_cast<float>(sum);
      }
    }
  }
  return {};
}

Status match_size(Stream& /*stream*/, const MatchSizeParams& params) {
  for (std::int64_t r = 0; r < params.x.dim(0); ++r) {
    const double own = std::max(spread(params.x, r, 0.0), static_cast<double>(params.minimum));
    const double ratio = std::sqrt(spread(params.target, r, 0.0) / own);
    for (std::int64_t i = 0; i < params.x.dim(1); ++i) {
      float_row(params.out, r)[i] = static_cast<float>(number(params.x, r, i) * ratio);
    }
  }
  return {};
}

Status scale_channels(Stream& /*stream*/, const ScaleChannelsParams& params) {
  for (std::int64_t r = 0; r < params.x.dim(0); ++r) {
    for (std::int64_t i = 0; i < params.x.dim(1); ++i) {
      const double factor =
          element(params.factors.dtype, static_cast<const std::byte*>(params.factors.data), i);
      float_row(params.out, r)[i] = static_cast<float>(number(params.x, r, i) * factor);
    }
  }
  return {};
}

Status keep_largest(Stream& /*stream*/, const KeepLargestParams& params) {
  const std::int64_t width = params.x.dim(1);
  for (std::int64_t r = 0; r < params.x.dim(0); ++r) {
    double mean = 0.0;
    for (std::int64_t i = 0; i < width; ++i) {
      mean += number(params.x, r, i) / static_cast<double>(width);
    }
    const double cut =
        mean + static_cast<double>(params.deviations) * std::sqrt(spread(params.x, r, mean));
    for (std::int64_t i = 0; i < width; ++i) {
      float_row(params.out, r)[i] = static_cast<float>(std::max(number(params.x, r, i) - cut, 0.0));
    }
  }
  return {};
}

}  // namespace godwit::ref
