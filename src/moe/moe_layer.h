#pragma once
// A mixture of experts in place of a feed-forward block: router, routed experts, shared expert.

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "layers/context.h"
#include "layers/mlp.h"
#include "moe/experts.h"
#include "moe/router.h"
#include "weights/weights_reader.h"

namespace godwit {

/// An expert that computes every token. Several shared experts are one of their widths' sum.
struct SharedExpertConfig {
  GatedMlpConfig mlp;
  const char* name = "mlp.shared_experts";  ///< After the layer's prefix, as the next one.
  const char* gate = nullptr;               ///< A linear map to one logit; null: none.
};

struct MoeConfig {
  RouterConfig router;
  ExpertsConfig experts;
  std::optional<SharedExpertConfig> shared;
  /// How many of the router's experts, the last ones, return their input. They have no weights.
  std::int64_t identity_experts = 0;
};

/// out = sum over a token's slots, in order, of weight * expert(x), + sigmoid(gate(x)) * shared(x).
/// Each term is added in f32, so that neither batch mates nor the place where an expert ran show.
/// Source: Shazeer et al. 2017, "Outrageously Large Networks"; Dai et al. 2024, "DeepSeekMoE".
struct MoeLayer {
  MoeConfig config;
  Router router;
  Experts experts;
  std::optional<GatedMlp> shared;
  Linear shared_gate;  ///< [1, hidden], or empty

  static Result<MoeLayer> load(WeightsReader& reader, const std::string& prefix,
                               const MoeConfig& config);

  /// Shapes: token_ids [tokens] i32, x and out [tokens, hidden_size].
  Status forward(const Context& context, const Tensor& token_ids, const Tensor& x,
                 Tensor& out) const;
  /// The same where the router reads other rows than the experts do.
  Status forward(const Context& context, const Tensor& token_ids, const Tensor& router_x,
                 const Tensor& x, Tensor& out) const;
  /// Adds to what `out` holds, as a residual stream wants it.
  Status forward_add(const Context& context, const Tensor& token_ids, const Tensor& x,
                     Tensor& out) const;

 private:
  struct Rows {
    const Tensor& router_x;
    const Tensor& x;
    const Tensor& out;
  };
  Status run(const Context& context, const Tensor& token_ids, const Rows& rows,
             bool accumulate) const;
  Status add_shared(const Context& context, const Tensor& x, Tensor& out) const;
};

}  // namespace godwit
