#pragma once
// Layer normalisation with a learned scale and, in most models, a shift.

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "layers/context.h"
#include "weights/weights_reader.h"

namespace godwit {

struct LayerNormConfig {
  std::int64_t width = 0;
  float epsilon = 0.0F;
  float weight_offset = 0.0F;  ///< 1 for models that store their scales less 1.
  bool has_bias = true;
};

struct LayerNorm {
  LayerNormConfig config;
  Tensor weight;  ///< [width]
  Tensor bias;    ///< [width], or empty

  /// Reads `name`.weight and, when there is to be one, `name`.bias.
  static Result<LayerNorm> load(WeightsReader& reader, std::string_view name,
                                const LayerNormConfig& config);

  /// Normalises the last axis of x [tokens, width] or [tokens, heads, width]; out may be x.
  Status forward(const Context& context, const Tensor& x, Tensor& out) const;
};

}  // namespace godwit
