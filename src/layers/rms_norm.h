#pragma once
// Root mean square normalisation, with a learned scale in most places.

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "layers/context.h"
#include "weights/weights_reader.h"

namespace godwit {

struct RmsNormConfig {
  float epsilon = 0.0F;
  float weight_offset = 0.0F;  ///< 1 for models that store their scales less 1.
  bool has_weight = true;
};

struct RmsNorm {
  RmsNormConfig config;
  Tensor weight;  ///< [width]

  /// Reads `name`.weight where there is to be one.
  static Result<RmsNorm> load(WeightsReader& reader, std::string_view name, std::int64_t width,
                              const RmsNormConfig& config);

  /// Normalises the last axis of x [tokens, width] or [tokens, heads, width]; out may be x.
  Status forward(const Context& context, const Tensor& x, Tensor& out) const;
};

}  // namespace godwit
