#include "layers/linear.h"

#include <string>

#include "ops/dense.h"

namespace godwit {

Result<Linear> Linear::load(WeightsReader& reader, std::string_view name, std::int64_t in_features,
                            std::int64_t out_features, bool has_bias) {
  Linear linear;
  const auto matrix =
      TRY(reader.read_ordered(std::string(name) + ".weight", {out_features, in_features}));
  linear.weight = matrix.weight;
  linear.input_order = matrix.input_order;
  if (has_bias) {
    linear.bias =
        TRY(reader.read(std::string(name) + ".bias", {out_features}, WeightKind::kVector));
  }
  return linear;
}

Linear Linear::rows(std::int64_t begin, std::int64_t count) const {
  return {.weight = weight.slice(0, begin, count),
          .bias = bias.empty() ? Tensor() : bias.slice(0, begin, count),
          .input_order = input_order};
}

Status Linear::forward(const Context& context, const Tensor& x, Tensor& out) const {
  return ops::gemm(context.stream, {.x = x,
                                    .weight = weight,
                                    .bias = bias,
                                    .out = out,
                                    .input_order = input_order,
                                    .accumulate = false,
                                    .precision = context.precision});
}

Status Linear::forward_add(const Context& context, const Tensor& x, Tensor& out) const {
  return ops::gemm(context.stream, {.x = x,
                                    .weight = weight,
                                    .bias = bias,
                                    .out = out,
                                    .input_order = input_order,
                                    .accumulate = true,
                                    .precision = context.precision});
}

}  // namespace godwit
