#pragma once
// The gated feed-forward block: down(silu(gate(x)) * up(x)).

#include <cstdint>
#include <string>

#include "base/status.h"
#include "layers/context.h"
#include "layers/linear.h"

namespace godwit {

/// Source: Shazeer 2020, "GLU Variants Improve Transformer".
struct GatedMlp {
  Linear gate_proj;
  Linear up_proj;
  Linear down_proj;

  /// Reads `prefix`.gate_proj, up_proj and down_proj.
  static Result<GatedMlp> load(WeightsReader& reader, const std::string& prefix,
                               std::int64_t hidden_size, std::int64_t intermediate_size,
                               bool has_bias);

  /// residual += down(silu(gate(x)) * up(x)). Shapes: x and residual [tokens, hidden_size].
  Status forward(const Context& context, const Tensor& x, Tensor& residual) const;
};

}  // namespace godwit
