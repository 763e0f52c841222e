#include "layers/layer_norm.h"

#include <string>

#include "ops/dense.h"

namespace godwit {

Result<LayerNorm> LayerNorm::load(WeightsReader& reader, std::string_view name,
                                  const LayerNormConfig& config) {
  LayerNorm norm;
  norm.config = config;
  norm.weight =
      TRY(reader.read(std::string(name) + ".weight", {config.width}, WeightKind::kVector));
  if (config.has_bias) {
    norm.bias = TRY(reader.read(std::string(name) + ".bias", {config.width}, WeightKind::kVector));
  }
  return norm;
}

Status LayerNorm::forward(const Context& context, const Tensor& x, Tensor& out) const {
  return ops::layer_norm(context.stream, {.x = x,
                                          .weight = weight,
                                          .bias = bias,
                                          .out = out,
                                          .epsilon = config.epsilon,
                                          .weight_offset = config.weight_offset});
}

}  // namespace godwit
