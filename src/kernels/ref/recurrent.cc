#include <vector>

#include "kernels/ref/element.h"
#include "kernels/ref/ref_kernels.h"

namespace godwit::ref {
namespace {

std::int32_t index(const Tensor& list, std::int64_t i) {
  return static_cast<const std::int32_t*>(list.data)[i * list.stride(0)];
}

double weight_at(const Tensor& tensor, std::int64_t offset) {
  return element(tensor.dtype, static_cast<const std::byte*>(tensor.data), offset);
}

/// What the convolution of one channel has seen: the state, then the inputs of the step.
std::vector<double> inputs_of(const CausalConvParams& params, std::int64_t sequence,
                              std::int64_t channel) {
  std::vector<double> seen;
  const std::int32_t source = index(params.tables.sources, sequence);
  for (std::int64_t j = 0; j < params.states.dim(2); ++j) {
    seen.push_back(
        source < 0 ? 0.0 : static_cast<double>(float_row(params.states.entry(source), channel)[j]));
  }
  for (std::int64_t t = index(params.query_start, sequence);
       t < index(params.query_start, sequence + 1); ++t) {
    const auto x = static_cast<double>(float_row(params.x, t)[channel]);
    const double gate =
        params.gate_in.empty() ? 1.0 : static_cast<double>(float_row(params.gate_in, t)[channel]);
    seen.push_back(gate * x);
  }
  return seen;
}

}  // namespace

Status causal_conv(Stream& /*stream*/, const CausalConvParams& params) {
  const std::int64_t taps = params.weight.dim(1);
  for (std::int64_t s = 0; s + 1 < params.query_start.dim(0); ++s) {
    const std::int64_t begin = index(params.query_start, s);
    for (std::int64_t c = 0; c < params.x.dim(1); ++c) {
      const std::vector<double> seen = inputs_of(params, s, c);
      for (std::int64_t t = begin; t < index(params.query_start, s + 1); ++t) {
        double sum = params.bias.empty() ? 0.0 : weight_at(params.bias, c);
        for (std::int64_t i = 0; i < taps; ++i) {
          sum += weight_at(params.weight, c * params.weight.stride(0) + i) *
                 seen[static_cast<std::size_t>(t - begin + i)];
        }
        if (!params.gate_out.empty()) {
          sum *= static_cast<double>(float_row(params.gate_out, t)[c]);
        }
        float_row(params.out, t)[c] = static_cast<float>(sum);
      }
      for (std::int64_t save = index(params.tables.save_start, s);
           save < index(params.tables.save_start, s + 1); ++save) {
        const std::int64_t end = index(params.tables.save_ends, save) - begin;
        float* state = float_row(params.states.entry(index(params.tables.save_places, save)), c);
        for (std::int64_t j = 0; j + 1 < taps; ++j) {
          state[j] = static_cast<float>(seen[static_cast<std::size_t>(end + j)]);
        }
      }
    }
  }
  return {};
}

}  // namespace godwit::ref
