#pragma once
// Multi-head latent attention: all heads share one latent a token, which is all that the cache
// holds. It is always computed in the absorbed form: queries are taken into the latent space, and
// what they find there back out of it, so that no key or value of a head is ever made. Prefill and
// decode thus compute a token alike, bit for bit.

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "kv/kv_cache_spec.h"
#include "layers/context.h"
#include "layers/indexer.h"
#include "layers/linear.h"
#include "layers/rms_norm.h"
#include "layers/rotary.h"

namespace godwit {

struct MlaConfig {
  std::int64_t layer = 0;  ///< Its place in Context::caches.
  std::int64_t hidden_size = 0;
  std::int64_t num_heads = 0;
  std::int64_t q_lora_rank = 0;  ///< 0: queries are projected in one step.
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;  ///< Channels of a query and key without position;
  std::int64_t qk_rope_head_dim = 0;  ///< and those with one, which all heads' keys share.
  std::int64_t v_head_dim = 0;
  float scale = 1.0F;         ///< Of the scores.
  float latent_scale = 1.0F;  ///< Of the latent after its norm, its rope part apart.
  float norm_epsilon = 0.0F;  ///< Of the norms between the steps of a projection.
  bool has_bias = false;      ///< Of the first steps and of o_proj.
  /// Absorbed queries are wide, so long prompts go through the heads in groups: what queries and
  /// results of a group take from the workspace, in elements, unless one head takes more.
  std::int64_t group_elements = std::int64_t{16} << 20;
  std::optional<IndexerConfig> indexer = std::nullopt;

  [[nodiscard]] std::int64_t query_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }
  /// Width of what the cache holds of a token.
  [[nodiscard]] std::int64_t latent_dim() const { return kv_lora_rank + qk_rope_head_dim; }
  [[nodiscard]] LayerCacheSpec cache_spec() const {
    return {.layer = layer,
            .num_kv_heads = 1,
            .key_dim = latent_dim(),
            .index_dim = indexer ? indexer->head_dim : 0};
  }
};

/// Source: DeepSeek-AI 2024, "DeepSeek-V2".
struct Mla {
  MlaConfig config;
  std::optional<Linear> q_a_proj;
  std::optional<RmsNorm> q_a_norm;
  Linear q_proj;  ///< From q_a_proj's output, where there is one.
  Linear kv_a_proj;
  RmsNorm kv_a_norm;
  Tensor key_weights;    ///< [num_heads, qk_nope_head_dim, kv_lora_rank], a view of kv_b_proj
  Tensor value_weights;  ///< [num_heads, v_head_dim, kv_lora_rank], likewise
  Linear o_proj;
  std::optional<Indexer> indexer;

  /// Reads `prefix`.q_proj, or q_a_proj, q_a_layernorm and q_b_proj; kv_a_proj_with_mqa,
  /// kv_a_layernorm, kv_b_proj, o_proj and, when configured, indexer.
  static Result<Mla> load(WeightsReader& reader, const std::string& prefix,
                          const MlaConfig& config);

  /// out = o(attention(x)); the tokens' latents go to this layer's cache. `chosen` [tokens, most]
  /// i32 holds the positions to attend to: a layer with an indexer writes it, one without uses what
  /// an earlier layer wrote; empty means all. Shapes: x and out [tokens, hidden_size].
  Status forward(const Context& context, const Rotary& rotary, const Tensor& x,
                 const Tensor& chosen, Tensor& out) const;
  /// Adds to what `out` holds, as a residual stream wants it.
  Status forward_add(const Context& context, const Rotary& rotary, const Tensor& x,
                     const Tensor& chosen, Tensor& out) const;

 private:
  /// What the heads found, [tokens, num_heads * v_head_dim], in the workspace of the caller's
  /// scope.
  Result<Tensor> attend(const Context& context, const Rotary& rotary, const Tensor& x,
                        const Tensor& chosen) const;
  /// Writes this step's latents to the cache.
  Status write_latents(const Context& context, const Rotary& rotary, const Tensor& x) const;
  /// What the heads [first, first + found.dim(1)) find. Shapes: source, of the queries, [tokens,
  /// its width]; found [tokens, heads, v_head_dim].
  Status attend_heads(const Context& context, const Rotary& rotary, const Tensor& source,
                      const Tensor& chosen, std::int64_t first, const Tensor& found) const;
};

}  // namespace godwit
