// Products with a matrix a head, and the choice of positions of sparse attention.

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/ref/element.h"
#include "kernels/ref/ref_kernels.h"

namespace godwit::ref {
namespace {

/// Element (row, column) of the matrix of `head`.
double matrix_element(const Tensor& weight, std::int64_t head, std::int64_t row,
                      std::int64_t column) {
  return element(weight.dtype, static_cast<const std::byte*>(weight.data),
                 head * weight.stride(0) + row * weight.stride(1) + column);
}

double index_score(const ChoosePositionsParams& params, std::int64_t token, std::int64_t sequence,
                   std::int64_t position) {
  const Tensor& cache = params.index_cache;
  const auto* table = static_cast<const std::int32_t*>(params.block_tables.data) +
                      sequence * params.block_tables.stride(0);
  const std::int64_t block_size = cache.dim(2);
  const std::int64_t key =
      table[position / block_size] * cache.stride(0) + position % block_size * cache.stride(2);
  double score = 0.0;
  for (std::int64_t h = 0; h < params.q.dim(1); ++h) {
    const float* q = float_row(params.q, token) + h * params.q.stride(1);
    double dot = 0.0;
    for (std::int64_t d = 0; d < params.q.dim(2); ++d) {
      dot += static_cast<double>(q[d]) *
             element(cache.dtype, static_cast<const std::byte*>(cache.data), key + d);
    }
    // A NaN stays one.
    score += static_cast<double>(float_row(params.weights, token)[h]) * (dot < 0.0 ? 0.0 : dot);
  }
  // Scores are compared as f32, which is what other devices have.
  return std::isnan(score) ? -std::numeric_limits<double>::infinity()
                           : static_cast<double>(static_cast<float>(score));
}

}  // namespace

Status head_gemm(Stream& /*stream*/, const HeadGemmParams& params) {
  for (std::int64_t t = 0; t < params.x.dim(0); ++t) {
    for (std::int64_t h = 0; h < params.x.dim(1); ++h) {
      const float* x = float_row(params.x, t) + h * params.x.stride(1);
      float* out = float_row(params.out, t) + h * params.out.stride(1);
      for (std::int64_t n = 0; n < params.out.dim(2); ++n) {
        double sum = 0.0;
        for (std::int64_t k = 0; k < params.x.dim(2); ++k) {
          sum += static_cast<double>(x[k]) * matrix_element(params.weight, h,
                                                            params.transposed ? k : n,
                                                            params.transposed ? n : k);
        }
        out[n] = static_cast<float>(sum);
      }
    }
  }
  return {};
}

Status choose_positions(Stream& /*stream*/, const ChoosePositionsParams& params) {
  const auto most = static_cast<std::size_t>(params.chosen.dim(1));
  for (std::int64_t s = 0; s < params.context_lens.dim(0); ++s) {
    const std::int64_t begin = at<std::int32_t>(params.query_start, s);
    const std::int64_t end = at<std::int32_t>(params.query_start, s + 1);
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t position = at<std::int32_t>(params.context_lens, s) - (end - t);
      std::vector<double> scores;
      for (std::int64_t p = 0; p <= position; ++p) {
        scores.push_back(index_score(params, t, s, p));
      }
      std::vector<std::int32_t> order(scores.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
      });
      order.resize(std::min(order.size(), most));
      std::sort(order.begin(), order.end());
      order.resize(most, -1);
      std::copy(order.begin(), order.end(),
                static_cast<std::int32_t*>(params.chosen.data) + t * params.chosen.stride(0));
    }
  }
  return {};
}

}  // namespace godwit::ref
