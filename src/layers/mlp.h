#pragma once
// The gated feed-forward block: down(activation(gate(x)) * up(x)).

#include <cstdint>
#include <string>

#include "base/status.h"
#include "layers/context.h"
#include "layers/linear.h"

namespace godwit {

struct GatedMlpConfig {
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  GatedForm form{};
  bool has_bias = false;
  bool fused = false;  ///< Stored as one tensor, `gate_up`: the gate's rows, then up's.
  const char* gate_up = "gate_up_proj";
  const char* gate = "gate_proj";  ///< Null: down(activation(up(x))).
  const char* up = "up_proj";
  const char* down = "down_proj";
};

/// Source: Shazeer 2020, "GLU Variants Improve Transformer".
struct GatedMlp {
  GatedMlpConfig config;
  Linear gate_proj;
  Linear up_proj;
  Linear down_proj;

  /// Reads the matrices under `prefix`.
  static Result<GatedMlp> load(WeightsReader& reader, const std::string& prefix,
                               const GatedMlpConfig& config);

  /// out = down(activation(gate(x)) * up(x)). Shapes: x and out [tokens, hidden_size].
  Status forward(const Context& context, const Tensor& x, Tensor& out) const;
  /// Adds to what `out` holds, as a residual stream wants it.
  Status forward_add(const Context& context, const Tensor& x, Tensor& out) const;

 private:
  /// activation(gate(x)) * up(x), in the workspace of the caller's scope.
  Result<Tensor> inner(const Context& context, const Tensor& x) const;
};

}  // namespace godwit
