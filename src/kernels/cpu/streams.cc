// Kernels on several residual streams. Sums of a row run in one order, in double precision.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/access.h"
#include "kernels/cpu/drivers.h"

namespace godwit::cpu {
namespace {

double mean_square(const float* x, std::int64_t width) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < width; ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  return sum / static_cast<double>(width);
}

/// The row of token t in stream s.
float* row_in(const Tensor& streams, std::int64_t s, std::int64_t t) {
  return static_cast<float*>(streams.data) + s * streams.stride(0) + t * streams.stride(1);
}

template <class Params, class Task>
void for_rows(Stream& stream, const Params& params, const Task& task) {
  split(stream, params.out.dim(0), 4 * params.out.dim(1),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            task(r, row_of<float>(params.x, r), row_of<float>(params.out, r));
          }
        });
}

}  // namespace

Status mix_streams(const IsaKernels& isa, Stream& stream, const MixStreamsParams& params) {
  const std::int64_t streams = params.x.dim(0);
  const std::int64_t tokens = params.x.dim(1);
  const std::int64_t width = params.x.dim(2);
  split(stream, streams * tokens, streams * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t place = begin; place < end; ++place) {
      const std::int64_t j = place / tokens;
      const std::int64_t t = place % tokens;
      float* out = row_in(params.out, j, t);
      if (params.mix.empty()) {
        std::memcpy(out, row_in(params.x, j, t), static_cast<std::size_t>(width) * sizeof(float));
      } else {
        const float* mix = row_of<float>(params.mix, t) + j * streams;
        isa.rows->scale(row_in(params.x, 0, t), mix[0], 0.0F, out, width);
        for (std::int64_t i = 1; i < streams; ++i) {
          isa.rows->add(row_in(params.x, i, t), mix[i], out, width);
        }
      }
      if (!params.y.empty()) {
        isa.rows->add(row_of<float>(params.y, t), row_of<float>(params.gain, t)[j], out, width);
      }
    }
  });
  return {};
}

Status match_size(const IsaKernels& isa, Stream& stream, const MatchSizeParams& params) {
  const std::int64_t width = params.out.dim(1);
  for_rows(stream, params, [&](std::int64_t r, const float* x, float* out) {
    const double own = std::max(mean_square(x, width), static_cast<double>(params.minimum));
    const double ratio = mean_square(row_of<float>(params.target, r), width) / own;
    isa.rows->scale(x, static_cast<float>(std::sqrt(ratio)), 0.0F, out, width);
  });
  return {};
}

Status scale_channels(const IsaKernels& isa, Stream& stream, const ScaleChannelsParams& params) {
  const Workspace::Scope scope(stream.workspace());
  const std::int64_t width = params.out.dim(1);
  auto* factors = TRY(take<float>(stream, width));
  widen(isa, params.factors.dtype, params.factors.data, factors, width);
  for_rows(stream, params, [&](std::int64_t /*r*/, const float* x, float* out) {
    for (std::int64_t i = 0; i < width; ++i) {
      out[i] = x[i] * factors[i];
    }
  });
  return {};
}

Status keep_largest(const IsaKernels& /*isa*/, Stream& stream, const KeepLargestParams& params) {
  const std::int64_t width = params.out.dim(1);
  for_rows(stream, params, [&](std::int64_t /*r*/, const float* x, float* out) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < width; ++i) {
      sum += static_cast<double>(x[i]);
    }
    const double mean = sum / static_cast<double>(width);
    double squares = 0.0;
    for (std::int64_t i = 0; i < width; ++i) {
      const double d = static_cast<double>(x[i]) - mean;
      squares += d * d;
    }
    const double deviation = std::sqrt(squares / static_cast<double>(width));
    const auto cut = static_cast<float>(mean + static_cast<double>(params.deviations) * deviation);
    for (std::int64_t i = 0; i < width; ++i) {
      out[i] = x[i] - cut < 0.0F ? 0.0F : x[i] - cut;
    }
  });
  return {};
}

}  // namespace godwit::cpu
