#pragma once
// Parameters of the kernels of a mixture of experts: who computes a token, what the experts make of
// it, and the sum of that. They are three, so that rows can travel to another rank between them.

#include "kernels/operand.h"
#include "kernels/params/dense.h"
#include "tensor/tensor.h"

namespace godwit {

/// What the router makes of its logits. A score that is not finite counts as 0.
enum class RouterScore : std::uint8_t {
  kSoftmax,  ///< Over all experts.
  kSigmoid,
  kSqrtSoftplus,     ///< sqrt(log(1 + exp(logit))). Source: DeepSeek-V4's report.
  kSoftmaxOfChosen,  ///< Over the logits of the chosen, which are chosen by logit.
  kSigmoidOfChosen,  ///< The chosen are chosen by logit.
  kSparseMixer,      ///< See RouteRule::tolerance.
};

/// How the scores of a token become experts and weights. Of equal scores the lowest index wins,
/// and a logit that is NaN counts as the lowest there is: each token gets top_k different experts.
///
///  1. choice = score + bias.
///  2. With more than one group, all but the `top_groups` best groups of consecutive experts are
///     out. A group is as good as its best choice, or as the sum of its two best.
///  3. The top_k best choices are taken, in falling order; their weights are their scores, without
///     bias.
///  4. renormalize: weights /= max(their sum, sum_minimum) + sum_epsilon, or 1 where that is 0.
///  5. weights *= scale, and the expert's own factor where there are such.
/// Sources: DeepSeek-V2's and V3's reports; Shazeer et al. 2017, "Outrageously Large Networks".
struct RouteRule {
  RouterScore score = RouterScore::kSoftmax;
  std::int64_t groups = 1;
  std::int64_t top_groups = 1;
  bool two_best_of_group = false;
  bool renormalize = false;
  float sum_minimum = 0.0F;
  float sum_epsilon = 0.0F;
  float scale = 1.0F;
  /// Of kSparseMixer: the next expert is the one of the largest logit m, and its weight its softmax
  /// among those not yet taken with (m - logit) / max(|logit|, m) <= tolerance. Source: Liu et al.
  /// 2023, "Sparse Backpropagation for MoE Training".
  float tolerance = 0.0F;
};

/// Chooses experts. With `table`, the experts of a token are its row there, and only the weights
/// come from the scores.
struct RouteParams {
  Tensor logits;   ///< [tokens, experts] f32
  Tensor bias;     ///< [experts] f32, f16 or bf16, added for the choice alone; or empty
  Tensor table;    ///< [vocab, top_k] i32, or empty
  Tensor tokens;   ///< [tokens] i32 token ids, read with a table; one outside it gets ids of -1
  Tensor ids;      ///< [tokens, top_k] i32
  Tensor weights;  ///< [tokens, top_k] f32
  RouteRule rule;
  Tensor factors{};  ///< [experts] f32, f16 or bf16: of each expert's weight; or empty

  [[nodiscard]] Operands operands() const {
    Operands operands;
    operands.reads(logits).reads(bias).reads(factors);
    if (!table.empty()) {
      operands.add({.tensor = table, .access = Access::kRead, .indices = tokens, .axis = 0})
          .reads(tokens);
    }
    return operands.writes(ids).writes(weights);
  }
};

/// out[t, s] = down(activation(gate(x[t])) * up(x[t])) of expert ids[t, s]; without gate weights,
/// down(activation(up(x[t]))). A slot whose id is no expert is left as it is.
///
/// A row of out depends on its row of x and its expert alone, bit for bit, as with GemmParams.
struct ExpertsParams {
  Tensor x;          ///< [tokens, hidden] f32
  Tensor ids;        ///< [tokens, top_k] i32
  Tensor x_weights;  ///< [tokens, top_k] f32 factors of the input; or empty
  Tensor gate;       ///< [experts, width, hidden], each expert contiguous; or empty
  Tensor up;         ///< as gate
  Tensor down;       ///< [experts, hidden, width], each expert contiguous
  Tensor gate_bias;  ///< [experts, width] f32, f16 or bf16; or empty, as the next ones
  Tensor up_bias;    ///< [experts, width]
  Tensor down_bias;  ///< [experts, hidden]
  Tensor out;        ///< [tokens, top_k, hidden] f32
  GatedForm form;
  Precision precision = Precision::kExact;

  [[nodiscard]] Operands operands() const {
    Operands operands;
    operands.reads(x).reads(ids).reads(x_weights);
    for (const Tensor& weight : {gate, up, down, gate_bias, up_bias, down_bias}) {
      operands.add({.tensor = weight, .access = Access::kRead, .indices = ids, .axis = 0});
    }
    return operands.writes(out);
  }
};

/// out[t] = sum over s, in order, of weights[t, s] * rows[t, s], or out[t] += that sum, term by
/// term. A slot whose id is negative adds nothing, and its row is not read. Where `x` is given, an
/// id of num_experts or more is an identity expert's: x[t] stands for its row.
/// Source: Meituan LongCat Team 2025, "LongCat-Flash" (zero-computation experts).
struct CombineExpertsParams {
  Tensor rows;     ///< [tokens, top_k, hidden] f32
  Tensor ids;      ///< [tokens, top_k] i32
  Tensor weights;  ///< [tokens, top_k] f32; empty: all 1
  Tensor out;      ///< [tokens, hidden] f32
  bool accumulate = false;
  Tensor x{};  ///< [tokens, hidden] f32, or empty; not out
  std::int64_t num_experts = 0;

  [[nodiscard]] Operands operands() const {
    Operands operands;
    operands.reads(rows).reads(ids).reads(weights).reads(x);
    return accumulate ? operands.updates(out) : operands.writes(out);
  }
};

}  // namespace godwit
