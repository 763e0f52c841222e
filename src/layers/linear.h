#pragma once
// A linear layer: y = x W^T + b.

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "layers/context.h"
#include "tensor/tensor.h"
#include "weights/weights_reader.h"

namespace godwit {

struct Linear {
  Tensor weight;            ///< [out_features, in_features]
  Tensor bias;              ///< [out_features], or empty
  Tensor input_order = {};  ///< [in_features], or empty; see GemmParams.

  /// Reads `name`.weight and, when there is to be one, `name`.bias.
  static Result<Linear> load(WeightsReader& reader, std::string_view name, std::int64_t in_features,
                             std::int64_t out_features, bool has_bias);

  /// The layer that computes outputs [begin, begin + count) of this one, without a copy.
  [[nodiscard]] Linear rows(std::int64_t begin, std::int64_t count) const;

  /// Shapes: x [tokens, in_features], out [tokens, out_features].
  Status forward(const Context& context, const Tensor& x, Tensor& out) const;
  /// Adds to what `out` holds, as a residual stream wants it.
  Status forward_add(const Context& context, const Tensor& x, Tensor& out) const;
};

}  // namespace godwit
