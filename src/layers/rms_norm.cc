#include "layers/rms_norm.h"

#include <string>

#include "ops/dense.h"

namespace godwit {

Result<RmsNorm> RmsNorm::load(WeightsReader& reader, std::string_view name, std::int64_t width,
                              float epsilon) {
  RmsNorm norm;
  norm.weight = TRY(reader.read(std::string(name) + ".weight", {width}, WeightKind::kVector));
  norm.epsilon = epsilon;
  return norm;
}

Status RmsNorm::forward(const Context& context, const Tensor& x, Tensor& out) const {
  return ops::rms_norm(context.stream, {.x = x, .weight = weight, .out = out, .epsilon = epsilon});
}

}  // namespace godwit
