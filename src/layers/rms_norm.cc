#include "layers/rms_norm.h"

#include <string>

#include "ops/dense.h"

namespace godwit {

Result<RmsNorm> RmsNorm::load(WeightsReader& reader, std::string_view name, std::int64_t width,
                              const RmsNormConfig& config) {
  RmsNorm norm;
  norm.config = config;
  if (!config.has_weight) {
    norm.weight = TRY(reader.allocate(DType::kF32, {width}));  // Zeros.
    norm.config.weight_offset = 1.0F;
    return norm;
  }
  norm.weight = TRY(reader.read(std::string(name) + ".weight", {width}, WeightKind::kVector));
  return norm;
}

Status RmsNorm::forward(const Context& context, const Tensor& x, Tensor& out) const {
  return ops::rms_norm(context.stream, {.x = x,
                                        .weight = weight,
                                        .out = out,
                                        .epsilon = config.epsilon,
                                        .weight_offset = config.weight_offset});
}

}  // namespace godwit
