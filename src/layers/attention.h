#pragma once
// Grouped-query attention over the paged cache.

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "layers/context.h"
#include "layers/linear.h"
#include "layers/low_rank.h"
#include "layers/rms_norm.h"
#include "layers/rotary.h"

namespace godwit {

/// A norm on queries and keys.
struct QkNormConfig {
  RmsNormConfig norm;
  bool whole_row = false;    ///< Over all heads at once, instead of over each.
  bool after_rope = false;   ///< Of each rotated head.
  const char* q = "q_norm";  ///< Names of tensors.
  const char* k = "k_norm";
};

struct AttentionConfig {
  std::int64_t layer = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;  ///< Of a head's values; 0: as head_dim.
  std::int64_t window = 0;     ///< Positions a token sees, its own included; 0 = all.
  std::optional<float> scale = std::nullopt;  ///< Of the scores; 1 / sqrt(head_dim) when absent.
  float softcap = 0.0F;                       ///< Of the scores; 0 = none.
  bool qkv_bias = false;
  bool o_bias = false;
  bool fused_qkv = false;  ///< Stored as one tensor, qkv_proj: all queries, all keys, all values.
  std::optional<QkNormConfig> qk_norm = std::nullopt;
  float qkv_limit = 0.0F;  ///< Bound of queries, keys and values after the norm; 0 = none.
  std::int64_t chunk = 0;  ///< See AttentionParams; 0 = none.
  float value_scale = 1.0F;
  const char* sinks = nullptr;  ///< Name of a tensor, see AttentionParams; null: none.
  const char* out = "o_proj";
  /// q_proj has a gate's rows after each head's own: what a head finds is multiplied by its
  /// sigmoid.
  bool output_gate = false;
  std::int64_t out_size = 0;  ///< Where it is not hidden_size.

  [[nodiscard]] std::int64_t value_width() const { return value_dim > 0 ? value_dim : head_dim; }
};

struct Attention {
  AttentionConfig config;
  Linear q_proj;
  Linear k_proj;
  Linear v_proj;
  Linear o_proj;
  std::optional<RmsNorm> q_norm;
  std::optional<RmsNorm> k_norm;
  std::optional<LowRank> q_adapter{};  ///< Added to what q_proj gives. All three, or none.
  std::optional<LowRank> k_adapter{};
  std::optional<LowRank> v_adapter{};
  Tensor alibi_slopes{};  ///< [num_heads] f32, or empty: see AttentionParams.
  Tensor sinks{};         ///< [num_heads], or empty
  Rotary temperature{};   ///< Scales queries by position: see Rotary::create_scaling(); or empty.

  /// Reads `prefix`.q_proj, k_proj, v_proj, the output and, when configured, norms and sinks.
  static Result<Attention> load(WeightsReader& reader, const std::string& prefix,
                                const AttentionConfig& config);

  /// out = o(attention(q(x), k(x), v(x))); the keys and values go to this layer's cache.
  /// Shapes: x and out [tokens, hidden_size].
  Status forward(const Context& context, const Rotary& rotary, const Tensor& x, Tensor& out) const;
  /// Adds to what `out` holds, as a residual stream wants it.
  Status forward_add(const Context& context, const Rotary& rotary, const Tensor& x,
                     Tensor& out) const;

 private:
  /// Shapes: q and k [tokens, heads, head_dim].
  Status normalize(const Context& context, Tensor& q, Tensor& k) const;
  /// Shapes: gate [tokens, num_heads, head_dim], found [tokens, num_heads * head_dim].
  Status apply_gate(const Context& context, const Tensor& gate, Tensor& found) const;
  /// What the heads found, [tokens, num_heads * value_dim], in the workspace of the caller's scope.
  Result<Tensor> attend(const Context& context, const Rotary& rotary, const Tensor& x) const;
};

}  // namespace godwit
