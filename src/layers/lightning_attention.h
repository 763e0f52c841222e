#pragma once
// Lightning attention: linear attention with a constant decay for each head, of MiniMax.

#include <cstdint>
#include <string>

#include "base/status.h"
#include "kv/kv_cache_spec.h"
#include "layers/context.h"
#include "layers/linear.h"
#include "layers/rms_norm.h"

namespace godwit {

struct LightningConfig {
  std::int64_t layer = 0;
  std::int64_t num_layers = 0;  ///< Of the model: later layers decay more slowly.
  std::int64_t hidden_size = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  Activation activation = Activation::kSilu;  ///< Of queries, keys and values.

  [[nodiscard]] std::int64_t width() const { return heads * head_dim; }
};

/// out = o(norm(recurrence(activation(qkv(x)))) * sigmoid(gate(x))).
/// Source: Qin et al. 2024, "Lightning Attention-2"; MiniMax 2025, "MiniMax-01" (rates of decay).
struct LightningAttention {
  LightningConfig config;
  Linear qkv_proj;  ///< Head by head its query, key and value.
  Tensor decay;     ///< [heads] f32
  Linear gate_proj;
  RmsNorm norm;
  Linear out_proj;

  /// Reads `prefix`.qkv_proj, output_gate, norm and out_proj. The decay is computed; where the
  /// checkpoint holds tables of it, they are left unread.
  static Result<LightningAttention> load(WeightsReader& reader, const std::string& prefix,
                                         const LightningConfig& config);

  /// What out_proj reads, in the workspace of the caller's scope. Shape: x [tokens, hidden_size].
  Result<Tensor> mix(const Context& context, const Tensor& x) const;
};

LayerCacheSpec cache_spec_of(const LightningConfig& config);

}  // namespace godwit
