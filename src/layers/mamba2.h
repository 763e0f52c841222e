#pragma once
// Mamba-2: a state a head, written by keys of its group and decaying by a step of its own.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/status.h"
#include "kv/kv_cache_spec.h"
#include "layers/context.h"
#include "layers/linear.h"
#include "layers/rms_norm.h"

namespace godwit {

/// How a layer's output meets its gate.
enum class OutputGate : std::uint8_t {
  kAlone,       ///< y * silu(gate)
  kBeforeNorm,  ///< norm(y * silu(gate))
  kAfterNorm,   ///< norm(y) * silu(gate)
};

struct Mamba2Config {
  std::int64_t layer = 0;
  std::int64_t hidden_size = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t groups = 0;  ///< A divisor of heads; heads of a group share keys and queries.
  std::int64_t state_size = 0;
  std::int64_t taps = 0;
  bool proj_bias = false;
  bool conv_bias = true;
  OutputGate gate = OutputGate::kBeforeNorm;
  bool norm_each_group = false;  ///< Instead of the whole width.
  float epsilon = 0.0F;          ///< Of the norm.
  float lowest_step = 0.0F;
  float highest_step = std::numeric_limits<float>::infinity();
  /// Of what in_proj gives for gate, x, keys, queries and steps.
  std::optional<std::array<float, 5>> multipliers = std::nullopt;

  [[nodiscard]] std::int64_t width() const { return heads * head_dim; }
  [[nodiscard]] std::int64_t key_width() const { return groups * state_size; }
  /// Of the convolution: x, keys and queries.
  [[nodiscard]] std::int64_t channels() const { return width() + 2 * key_width(); }
};

/// (gate, xBC, dt) = in(input); (x, B, C) = silu(conv(xBC)); out = o(gated(recurrence(x, B, C,
/// dt))). Source: Dao and Gu 2024, "Transformers are SSMs".
struct Mamba2 {
  Mamba2Config config;
  Linear in_proj;
  Tensor conv;       ///< [channels, taps]
  Tensor conv_bias;  ///< [channels], or empty
  Tensor step_bias;  ///< [heads] f32
  Tensor rate;       ///< [heads] f32, negative
  Tensor skip;       ///< [heads] f32
  std::optional<RmsNorm> norm;
  Linear out_proj;

  /// Reads `prefix`.in_proj, conv1d, dt_bias, A_log, D, norm and out_proj.
  static Result<Mamba2> load(WeightsReader& reader, const std::string& prefix,
                             const Mamba2Config& config);

  /// What out_proj reads, in the workspace of the caller's scope. Shape: x [tokens, hidden_size].
  Result<Tensor> mix(const Context& context, const Tensor& x) const;

 private:
  Status apply_gate(const Context& context, const Tensor& gate, Tensor& y) const;
  Status normalize(const Context& context, Tensor& y) const;
};

LayerCacheSpec cache_spec_of(const Mamba2Config& config);

}  // namespace godwit
