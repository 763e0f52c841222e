#pragma once
// Parameters of the recurrences of recurrent layers. As the convolution of params/recurrent.h, each
// walks the tokens of a sequence in order, so that a row depends on the tokens before it alone.

#include <limits>

#include "kernels/operand.h"
#include "kernels/params/recurrent.h"
#include "tensor/tensor.h"

namespace godwit {

/// How far each token takes a state: step = clamp(softplus(x + bias), lowest, highest) and decay =
/// exp(step * rate). Source: Gu and Dao 2023, "Mamba".
struct StepSizeParams {
  Tensor x;        ///< [tokens, width] f32
  Tensor bias;     ///< [width] f32
  Tensor rate{};   ///< [width] f32, negative; empty where decay is
  Tensor step{};   ///< as x, or empty; may be x
  Tensor decay{};  ///< as x, or empty; may be x where step is not
  float lowest = 0.0F;
  float highest = std::numeric_limits<float>::infinity();

  [[nodiscard]] Operands operands() const {
    return Operands().reads(x).reads(bias).reads(rate).writes(step).writes(decay);
  }
};

/// Mamba's scan, channel by channel: h = exp(step * rate) * h + step * x * b, and then
/// out = c . h + skip * x, with a state h of `size` numbers.
/// Source: Gu and Dao 2023, "Mamba".
struct SelectiveScanParams {
  Tensor x;            ///< [tokens, channels] f32
  Tensor step;         ///< as x
  Tensor rate;         ///< [channels, size] f32, negative
  Tensor b;            ///< [tokens, size] f32
  Tensor c;            ///< as b
  Tensor skip;         ///< [channels] f32
  Tensor query_start;  ///< [sequences + 1] i32: which tokens are whose
  Tensor states;       ///< [places, channels, 1, size] f32
  StateTables tables;
  Tensor out;  ///< as x; may be x or step

  [[nodiscard]] Operands operands() const {
    return Operands()
        .reads(x)
        .reads(step)
        .reads(rate)
        .reads(b)
        .reads(c)
        .reads(skip)
        .reads(query_start)
        .reads(tables.sources)
        .reads(tables.save_start)
        .reads(tables.save_ends)
        .reads(tables.save_places)
        .add({.tensor = states, .access = Access::kRead, .indices = tables.sources})
        .add({.tensor = states, .access = Access::kWrite, .indices = tables.save_places})
        .writes(out);
  }
};

/// A state S [rows, columns] for each head, to which each token adds what its key says of its
/// value:
///   S = decay * S;  u = gain * (v - S^T k) by the delta rule, else gain * v;  S = S + k u^T;
///   out = S^T q + skip * v.
/// Head h reads the keys and queries of head h / (heads / key_heads). A decay for each row
/// multiplies that row.
/// Sources: Dao and Gu 2024, "Transformers are SSMs" (k = B, q = C, v = x, gain = step); Yang et
/// al. 2024, "Gated Delta Networks"; Moonshot AI 2025, "Kimi Linear" (a decay for each row); Qin et
/// al. 2024, "Lightning Attention-2" (a constant decay).
struct LinearRecurrenceParams {
  Tensor q;            ///< [tokens, key_heads, rows] f32
  Tensor k;            ///< as q
  Tensor v;            ///< [tokens, heads, columns] f32; heads is a multiple of key_heads
  Tensor decay;        ///< [tokens, heads] or [tokens, heads, rows] f32
  Tensor gain{};       ///< [tokens, heads] f32; empty: 1
  Tensor skip{};       ///< [heads] f32; empty: 0
  Tensor query_start;  ///< [sequences + 1] i32: which tokens are whose
  Tensor states;       ///< [places, heads, rows, columns] f32
  StateTables tables;
  Tensor out;  ///< as v; may be v
  bool delta_rule = false;

  [[nodiscard]] Operands operands() const {
    return Operands()
        .reads(q)
        .reads(k)
        .reads(v)
        .reads(decay)
        .reads(gain)
        .reads(skip)
        .reads(query_start)
        .reads(tables.sources)
        .reads(tables.save_start)
        .reads(tables.save_ends)
        .reads(tables.save_places)
        .add({.tensor = states, .access = Access::kRead, .indices = tables.sources})
        .add({.tensor = states, .access = Access::kWrite, .indices = tables.save_places})
        .writes(out);
  }
};

}  // namespace godwit
