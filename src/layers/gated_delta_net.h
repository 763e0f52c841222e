#pragma once
// Linear attention with a decay and the delta rule: the recurrent layer of Qwen3-Next and Qwen3.5.

#include <cstdint>
#include <string>

#include "base/status.h"
#include "kv/kv_cache_spec.h"
#include "layers/context.h"
#include "layers/linear.h"
#include "layers/rms_norm.h"

namespace godwit {

struct GatedDeltaNetConfig {
  std::int64_t layer = 0;
  std::int64_t hidden_size = 0;
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;  ///< A multiple of key_heads.
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t taps = 0;
  float epsilon = 0.0F;  ///< Of the output's norm.
  /// Stored as in_proj_qkvz and in_proj_ba, in which each key head's rows lie together.
  bool rows_by_key_head = false;

  [[nodiscard]] std::int64_t key_width() const { return key_heads * key_dim; }
  [[nodiscard]] std::int64_t value_width() const { return value_heads * value_dim; }
  /// Of the convolution: queries, keys and values.
  [[nodiscard]] std::int64_t channels() const { return 2 * key_width() + value_width(); }
};

/// out = o(norm(recurrence(silu(conv(q, k, v)))) * silu(z)), the norm of each head by itself.
/// Source: Yang et al. 2024, "Gated Delta Networks".
struct GatedDeltaNet {
  GatedDeltaNetConfig config;
  Linear qkv_proj;   ///< [channels, hidden_size]
  Linear z_proj;     ///< [value_width, hidden_size]
  Linear b_proj;     ///< [value_heads, hidden_size]: how much of a value is taken;
  Linear a_proj;     ///< likewise: how far the state decays
  Tensor conv;       ///< [channels, taps]
  Tensor step_bias;  ///< [value_heads] f32
  Tensor rate;       ///< [value_heads] f32, negative
  RmsNorm unit_q;    ///< To length 1 / sqrt(key_dim)
  RmsNorm unit_k;    ///< and to length 1.
  RmsNorm norm;
  Linear out_proj;

  /// Reads `prefix`.in_proj_qkv, _z, _b, _a (or _qkvz, _ba), conv1d, dt_bias, A_log, norm,
  /// out_proj.
  static Result<GatedDeltaNet> load(WeightsReader& reader, const std::string& prefix,
                                    const GatedDeltaNetConfig& config);

  /// What out_proj reads, in the workspace of the caller's scope. Shape: x [tokens, hidden_size].
  Result<Tensor> mix(const Context& context, const Tensor& x) const;

 private:
  Status load_by_key_head(WeightsReader& reader, const std::string& prefix);
};

LayerCacheSpec cache_spec_of(const GatedDeltaNetConfig& config);

/// A norm without weight that makes a head's channels a vector of this length.
Result<RmsNorm> unit_norm(WeightsReader& reader, std::int64_t width, float length);

}  // namespace godwit
