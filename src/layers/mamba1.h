#pragma once
// Mamba: a state a channel, whose decay, input and output the tokens choose.

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "kv/kv_cache_spec.h"
#include "layers/context.h"
#include "layers/linear.h"
#include "layers/rms_norm.h"

namespace godwit {

struct Mamba1Config {
  std::int64_t layer = 0;
  std::int64_t hidden_size = 0;
  std::int64_t channels = 0;
  std::int64_t state_size = 0;
  std::int64_t step_rank = 0;
  std::int64_t taps = 0;
  bool proj_bias = false;
  bool conv_bias = true;
  /// Epsilon of norms of steps, inputs and outputs, where the family has them (Jamba).
  std::optional<float> inner_epsilon = std::nullopt;
};

/// (x, gate) = in(input); x = silu(conv(x)); (dt, B, C) = x_proj(x);
/// out = o(scan(x, dt_proj(dt), B, C) * silu(gate)).
/// Source: Gu and Dao 2023, "Mamba".
struct Mamba1 {
  Mamba1Config config;
  Linear in_proj;
  Tensor conv;       ///< [channels, taps]
  Tensor conv_bias;  ///< [channels], or empty
  Linear x_proj;
  std::optional<RmsNorm> step_norm;
  std::optional<RmsNorm> b_norm;
  std::optional<RmsNorm> c_norm;
  Linear step_proj;
  Tensor step_bias;  ///< [channels] f32
  Tensor rate;       ///< [channels, state_size] f32, negative
  Tensor skip;       ///< [channels] f32
  Linear out_proj;

  /// Reads `prefix`.in_proj, conv1d, x_proj, dt_proj, A_log, D, out_proj and, when configured,
  /// dt_layernorm, b_layernorm and c_layernorm.
  static Result<Mamba1> load(WeightsReader& reader, const std::string& prefix,
                             const Mamba1Config& config);

  /// What out_proj reads, in the workspace of the caller's scope. Shape: x [tokens, hidden_size].
  Result<Tensor> mix(const Context& context, const Tensor& x) const;

 private:
  /// Writes [tokens, channels]: scan(x) * silu(gate). `x` is what the convolution gave.
  Status scan(const Context& context, const Tensor& x, const Tensor& gate, Tensor& out) const;
};

LayerCacheSpec cache_spec_of(const Mamba1Config& config);

}  // namespace godwit
