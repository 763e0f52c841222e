#pragma once
// Parameters of the kernels that multi-head latent attention needs beyond attention itself.

#include "kernels/operand.h"
#include "tensor/tensor.h"

namespace godwit {

/// out[t, h] = x[t, h] W[h]^T, or x[t, h] W[h] when `transposed`: a matrix of its own for each
/// head.
///
/// Weights are widened or dequantised exactly, sums are in f32. Each element of out depends on its
/// row of x and on its matrix alone, bit for bit: not on the number of tokens or heads, nor on the
/// threads. Source: DeepSeek-AI 2024, "DeepSeek-V2" (the absorbed form of latent attention).
struct HeadGemmParams {
  Tensor x;       ///< [tokens, heads, k] f32
  Tensor weight;  ///< [heads, n, k], or [heads, k, n] when transposed; each matrix contiguous; f32,
                  ///< f16, bf16 or quantised
  Tensor out;     ///< [tokens, heads, n] f32
  bool transposed = false;

  [[nodiscard]] Operands operands() const { return Operands().reads(x).reads(weight).writes(out); }
};

/// Chooses, for each of this step's tokens, the positions of its sequence that it attends to: the
/// `most` largest of
///   score(t, p) = sum over heads of weights[t, h] * max(q[t, h] . k[p], 0),  p up to its own,
/// equal scores by the lower position first, NaN as the lowest score. Sequences and tokens are as
/// in AttentionParams; a choice does not depend on chunking or on other sequences.
/// Source: DeepSeek-AI 2025, "DeepSeek-V3.2" (lightning indexer).
struct ChoosePositionsParams {
  Tensor q;             ///< [tokens, heads, index_dim] f32
  Tensor weights;       ///< [tokens, heads] f32, every scale included
  Tensor index_cache;   ///< [num_blocks, 1, block_size, index_dim] f32 or bf16, rows contiguous
  Tensor block_tables;  ///< [sequences, max_blocks] i32
  Tensor query_start;   ///< [sequences + 1] i32
  Tensor context_lens;  ///< [sequences] i32
  Tensor chosen;        ///< [tokens, most] i32, rows contiguous: rising positions, then -1

  [[nodiscard]] Operands operands() const {
    return Operands()
        .reads(q)
        .reads(weights)
        .add({.tensor = index_cache,
              .access = Access::kRead,
              .indices = block_tables,
              .axis = 0,
              .lengths = context_lens})
        .reads(block_tables)
        .reads(query_start)
        .reads(context_lens)
        .writes(chosen);
  }
};

}  // namespace godwit
