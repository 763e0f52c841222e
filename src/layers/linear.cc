#include "layers/linear.h"

#include <string>

#include "ops/dense.h"

namespace godwit {

Result<Linear> Linear::load(WeightsReader& reader, std::string_view name, std::int64_t in_features,
                            std::int64_t out_features, bool has_bias) {
  Linear linear;
  linear.weight = TRY(reader.read(std::string(name) + ".weight", {out_features, in_features}));
  if (has_bias) {
    linear.bias =
        TRY(reader.read(std::string(name) + ".bias", {out_features}, WeightKind::kVector));
  }
  return linear;
}

Linear Linear::rows(std::int64_t begin, std::int64_t count) const {
  return {.weight = weight.slice(0, begin, count),
          .bias = bias.empty() ? Tensor() : bias.slice(0, begin, count)};
}

Status Linear::forward(const Context& context, const Tensor& x, Tensor& out) const {
  return ops::gemm(context.stream, {.x = x,
                                    .weight = weight,
                                    .bias = bias,
                                    .out = out,
                                    .accumulate = false,
                                    .precision = context.precision});
}

Status Linear::forward_add(const Context& context, const Tensor& x, Tensor& out) const {
  return ops::gemm(context.stream, {.x = x,
                                    .weight = weight,
                                    .bias = bias,
                                    .out = out,
                                    .accumulate = true,
                                    .precision = context.precision});
}

}  // namespace godwit
