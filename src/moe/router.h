#pragma once
// Which experts compute a token, and with what weights.

#include <cstdint>
#include <string>

#include "base/status.h"
#include "kernels/params/moe.h"
#include "layers/context.h"
#include "layers/linear.h"
#include "weights/weights_reader.h"

namespace godwit {

struct RouterConfig {
  std::int64_t hidden_size = 0;
  std::int64_t num_experts = 0;
  std::int64_t top_k = 0;
  RouteRule rule;
  /// Names of tensors, after the layer's prefix.
  const char* gate = "mlp.gate";
  bool gate_bias = false;
  const char* correction = nullptr;   ///< The bias of the choice; null: none.
  bool correction_is_matrix = false;  ///< Stored as [1, experts].
  const char* factors = nullptr;      ///< Of the experts' weights, see RouteParams; null: none.
  const char* table = nullptr;        ///< Experts by token id; null: chosen by the gate.
  std::int64_t vocab_size = 0;        ///< Rows of the table.
};

/// A router's answer for some tokens, in the workspace of the caller's scope.
struct Routing {
  Tensor ids;      ///< [tokens, top_k] i32
  Tensor weights;  ///< [tokens, top_k] f32
};

/// Logits are computed in Precision::kExact whatever the step's precision: they are a thousandth of
/// the work, and a rounded one may call another expert.
struct Router {
  RouterConfig config;
  Linear gate;        ///< [num_experts, hidden_size]
  Tensor correction;  ///< [num_experts], or empty
  Tensor table;       ///< [vocab_size, top_k] i32, or empty
  Tensor factors{};   ///< [num_experts], or empty

  /// Errors: as WeightsReader::read(); kInvalidArgument when the table names no expert.
  static Result<Router> load(WeightsReader& reader, const std::string& prefix,
                             const RouterConfig& config);

  /// Shapes: token_ids [tokens] i32, x [tokens, hidden_size].
  Result<Routing> forward(const Context& context, const Tensor& token_ids, const Tensor& x) const;
};

}  // namespace godwit
