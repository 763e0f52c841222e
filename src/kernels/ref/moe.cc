// Routing, experts and their weighted sum, a slot at a time.

#include <vector>

#include "kernels/ref/element.h"
#include "kernels/ref/ref_kernels.h"
#include "kernels/route_row.h"

namespace godwit::ref {
namespace {

/// One linear map of one expert on one row.
Status expert_product(Stream& stream, const ExpertsParams& params, const Tensor& weight,
                      const Tensor& bias, std::int64_t expert, std::vector<float>& x,
                      std::vector<float>& out) {
  const std::int64_t n = weight.dim(1);
  out.assign(static_cast<std::size_t>(n), 0.0F);
  return gemm(stream, {.x = Tensor::contiguous(x.data(), DType::kF32, {1, weight.dim(2)}),
                       .weight = weight.entry(expert),
                       .bias = bias.empty() ? Tensor() : bias.entry(expert),
                       .out = Tensor::contiguous(out.data(), DType::kF32, {1, n}),
                       .precision = params.precision});
}

Status run_slot(Stream& stream, const ExpertsParams& params, std::int64_t token, std::int64_t slot,
                std::int64_t expert) {
  const std::int64_t hidden = params.x.dim(1);
  const float* row = float_row(params.x, token);
  std::vector<float> x(row, row + hidden);
  if (!params.x_weights.empty()) {
    for (float& value : x) {
      value *= float_row(params.x_weights, token)[slot];
    }
  }
  std::vector<float> up;
  TRY(expert_product(stream, params, params.up, params.up_bias, expert, x, up));
  const Tensor ups = Tensor::contiguous(up.data(), DType::kF32, {1, params.up.dim(1)});
  if (params.gate.empty()) {
    TRY(activation(stream, {.x = ups, .out = ups, .activation = params.form.activation}));
  } else {
    std::vector<float> gate;
    TRY(expert_product(stream, params, params.gate, params.gate_bias, expert, x, gate));
    const Tensor gates = Tensor::contiguous(gate.data(), DType::kF32, {1, params.up.dim(1)});
    TRY(gated_activation(stream, {.gate = gates, .up = ups, .out = ups, .form = params.form}));
  }
  std::vector<float> down;
  TRY(expert_product(stream, params, params.down, params.down_bias, expert, up, down));
  std::copy(down.begin(), down.end(), float_row(params.out, token) + slot * params.out.stride(1));
  return {};
}

std::vector<float> widened_row(const Tensor& vector) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; !vector.empty() && i < vector.dim(0); ++i) {
    numbers.push_back(static_cast<float>(element(vector.dtype, row_data(vector, i), 0)));
  }
  return numbers;
}

}  // namespace

Status route(Stream& /*stream*/, const RouteParams& params) {
  const std::int64_t top_k = params.ids.dim(1);
  const std::vector<float> bias = widened_row(params.bias);
  const std::vector<float> factors = widened_row(params.factors);
  RowRouter router(params.rule, params.logits.dim(1), bias, factors);
  for (std::int64_t t = 0; t < params.logits.dim(0); ++t) {
    const auto count = static_cast<std::size_t>(top_k);
    const std::span<std::int32_t> ids(
        static_cast<std::int32_t*>(params.ids.data) + t * params.ids.stride(0), count);
    const std::span<float> weights(float_row(params.weights, t), count);
    if (params.table.empty()) {
      router.choose(float_row(params.logits, t), ids, weights);
      continue;
    }
    const std::int64_t token = at<std::int32_t>(params.tokens, t);
    const bool known = token >= 0 && token < params.table.dim(0);
    for (std::int64_t slot = 0; slot < top_k; ++slot) {
      ids[static_cast<std::size_t>(slot)] =
          known ? static_cast<const std::int32_t*>(
                      params.table.data)[token * params.table.stride(0) + slot]
                : -1;
    }
    router.weigh(float_row(params.logits, t), ids, weights);
  }
  return {};
}

Status experts(Stream& stream, const ExpertsParams& params) {
  for (std::int64_t t = 0; t < params.ids.dim(0); ++t) {
    for (std::int64_t slot = 0; slot < params.ids.dim(1); ++slot) {
      const std::int64_t expert =
          (static_cast<const std::int32_t*>(params.ids.data) + t * params.ids.stride(0))[slot];
      if (expert >= 0 && expert < params.up.dim(0)) {
        TRY(run_slot(stream, params, t, slot, expert));
      }
    }
  }
  return {};
}

Status combine_experts(Stream& /*stream*/, const CombineExpertsParams& params) {
  for (std::int64_t t = 0; t < params.out.dim(0); ++t) {
    float* out = float_row(params.out, t);
    const auto* ids = static_cast<const std::int32_t*>(params.ids.data) + t * params.ids.stride(0);
    for (std::int64_t i = 0; i < params.out.dim(1); ++i) {
      double sum = params.accumulate ? static_cast<double>(out[i]) : 0.0;
      for (std::int64_t slot = 0; slot < params.ids.dim(1); ++slot) {
        if (ids[slot] >= 0) {
          const double weight = params.weights.empty()
                                    ? 1.0
                                    : static_cast<double>(float_row(params.weights, t)[slot]);
          const bool identity = !params.x.empty() && ids[slot] >= params.num_experts;
          const float* row = identity ? float_row(params.x, t)
                                      : float_row(params.rows, t) + slot * params.rows.stride(1);
          sum += weight * static_cast<double>(row[i]);
        }
      }
      out[i] = static_cast<float>(sum);
    }
  }
  return {};
}

}  // namespace godwit::ref
