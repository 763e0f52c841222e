#pragma once
// Grouped-query attention over the paged cache.

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "layers/context.h"
#include "layers/linear.h"
#include "layers/rms_norm.h"
#include "layers/rotary.h"

namespace godwit {

struct AttentionConfig {
  std::int64_t layer = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t window = 0;  ///< Positions a token sees, its own included; 0 = all.
  bool qkv_bias = false;
  bool o_bias = false;
  std::optional<float> qk_norm_epsilon;  ///< Normalises each head of q and k when set.
};

struct Attention {
  AttentionConfig config;
  Linear q_proj;
  Linear k_proj;
  Linear v_proj;
  Linear o_proj;
  std::optional<RmsNorm> q_norm;
  std::optional<RmsNorm> k_norm;
  Tensor alibi_slopes{};  ///< [num_heads] f32, or empty: see AttentionParams.

  /// Reads `prefix`.q_proj, k_proj, v_proj, o_proj and, when configured, q_norm and k_norm.
  static Result<Attention> load(WeightsReader& reader, const std::string& prefix,
                                const AttentionConfig& config);

  /// residual += o(attention(q(x), k(x), v(x))); the keys and values go to this layer's cache.
  /// Shapes: x and residual [tokens, hidden_size].
  Status forward(const Context& context, const Rotary& rotary, const Tensor& x,
                 Tensor& residual) const;
};

}  // namespace godwit
