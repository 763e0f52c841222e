#pragma once
// Kimi's delta attention: as the gated delta net, with a decay for each channel of a key.

#include <cstdint>
#include <string>

#include "base/status.h"
#include "kv/kv_cache_spec.h"
#include "layers/context.h"
#include "layers/linear.h"
#include "layers/rms_norm.h"

namespace godwit {

struct KimiDeltaConfig {
  std::int64_t layer = 0;
  std::int64_t hidden_size = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;  ///< Of keys and values, and the rank of decay and output gate.
  std::int64_t taps = 0;
  float epsilon = 0.0F;  ///< Of the output's norm.

  [[nodiscard]] std::int64_t width() const { return heads * head_dim; }
};

/// out = o(norm(recurrence(silu(conv(q, k, v)))) * sigmoid(gate)), the norm of each head by itself.
/// Source: Moonshot AI 2025, "Kimi Linear".
struct KimiDeltaAttention {
  KimiDeltaConfig config;
  Linear q_proj;
  Linear k_proj;
  Linear v_proj;
  Tensor conv;  ///< [3 * width, taps]: of queries, keys and values
  Linear decay_low_proj;
  Linear decay_proj;
  Tensor step_bias;  ///< [width] f32
  Tensor rate;       ///< [width] f32, negative; equal within a head
  Linear b_proj;     ///< [heads, hidden_size]: how much of a value is taken
  Linear gate_low_proj;
  Linear gate_proj;
  RmsNorm unit_q;
  RmsNorm unit_k;
  RmsNorm norm;
  Linear out_proj;

  /// Reads `prefix`.{q,k,v}_proj, {q,k,v}_conv1d, f_a_proj, f_b_proj, dt_bias, A_log, b_proj,
  /// g_a_proj, g_b_proj, o_norm and o_proj.
  static Result<KimiDeltaAttention> load(WeightsReader& reader, const std::string& prefix,
                                         const KimiDeltaConfig& config);

  /// What out_proj reads, in the workspace of the caller's scope. Shape: x [tokens, hidden_size].
  Result<Tensor> mix(const Context& context, const Tensor& x) const;

 private:
  /// Writes the convolved queries, keys and values: [tokens, 3 * width].
  Status project(const Context& context, const Tensor& x, Tensor& mixed) const;
  /// to(low(x)), through scratch of the rank's width.
  Status project_twice(const Context& context, const Linear& low, const Linear& to, const Tensor& x,
                       Tensor& out) const;
};

LayerCacheSpec cache_spec_of(const KimiDeltaConfig& config);

}  // namespace godwit
