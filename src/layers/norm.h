#pragma once
// The norm of a family, of either kind.

#include <cstdint>
#include <string_view>
#include <variant>

#include "base/status.h"
#include "layers/layer_norm.h"
#include "layers/rms_norm.h"

namespace godwit {

/// A LayerNormConfig's width is set when the norm is loaded.
using NormConfig = std::variant<RmsNormConfig, LayerNormConfig>;

struct Norm {
  std::variant<RmsNorm, LayerNorm> kind;

  /// Reads `name`.weight and what else its kind has.
  static Result<Norm> load(WeightsReader& reader, std::string_view name, std::int64_t width,
                           const NormConfig& config);

  /// Normalises the last axis of x [tokens, width]; out may be x.
  Status forward(const Context& context, const Tensor& x, Tensor& out) const;
};

}  // namespace godwit
