#pragma once
// Parameters of the kernels that carry a state from token to token.
//
// Each walks the tokens of a sequence in order, from the state that the cache holds or from zeros,
// and saves the state where it is told to. So a row depends on the tokens before it alone, whatever
// steps they came in.

#include "kernels/operand.h"
#include "tensor/tensor.h"

namespace godwit {

/// Where the recurrent layers of a group begin this step, and what they keep of it. The state with
/// which a sequence begins may lie where one of its own saves goes, but not where another's does.
struct StateTables {
  Tensor sources;      ///< [sequences] i32: the state before its first token; negative: all zeros
  Tensor save_start;   ///< [sequences + 1] i32: whose saves are whose
  Tensor save_ends;    ///< [saves] i32: saved is the state before this row of the step's tokens;
                       ///< rising, at last the sequence's end
  Tensor save_places;  ///< [saves] i32
};

/// A causal convolution of each channel by itself: out[t, c] = gate_out[t, c] * (bias[c] + sum over
/// i of weight[c, i] * in(t - taps + 1 + i, c)), with in = gate_in * x, and 0 before the sequence.
/// The state is the last taps - 1 inputs, oldest first.
/// Source: Dao 2023, "causal-conv1d"; the gates are those of LFM2's published code.
struct CausalConvParams {
  Tensor x;            ///< [tokens, channels] f32
  Tensor gate_in{};    ///< as x, or empty
  Tensor gate_out{};   ///< as x, or empty
  Tensor weight;       ///< [channels, taps] f32, f16 or bf16
  Tensor bias{};       ///< [channels] f32, f16 or bf16, or empty
  Tensor query_start;  ///< [sequences + 1] i32: which tokens are whose
  Tensor states;       ///< [places, channels, taps - 1] f32
  StateTables tables;
  Tensor out;  ///< as x; none of the inputs

  [[nodiscard]] Operands operands() const {
    return Operands()
        .reads(x)
        .reads(gate_in)
        .reads(gate_out)
        .reads(weight)
        .reads(bias)
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
