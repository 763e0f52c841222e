#pragma once
// Parameters of the kernels around the paged cache of keys and values.

#include "kernels/operand.h"
#include "tensor/tensor.h"

namespace godwit {

/// Rotates pairs of the first `rotary_dim` channels of each head, in place.
/// Source: Su et al. 2021, "RoFormer". Pairs are (i, i + rotary_dim / 2), or (2i, 2i + 1) when
/// interleaved.
struct RopeParams {
  Tensor x;          ///< [tokens, heads, head_dim] f32
  Tensor positions;  ///< [tokens] i32, each in [0, max_positions)
  Tensor cos_sin;    ///< [max_positions, rotary_dim] f32: rotary_dim / 2 cosines, then the sines
  bool interleaved = false;

  [[nodiscard]] Operands operands() const {
    return Operands().updates(x).reads(positions).add(
        {.tensor = cos_sin, .access = Access::kRead, .indices = positions, .axis = 0});
  }
};

/// Writes the keys and values of this step's tokens into their cache slots.
struct KvWriteParams {
  Tensor k;        ///< [tokens, num_kv_heads, key_dim] f32
  Tensor v;        ///< [tokens, num_kv_heads, value_dim] f32; or empty: there are keys alone
  Tensor slots;    ///< [tokens] i64: block_id * block_size + offset; negative slots are skipped
  Tensor k_cache;  ///< [num_blocks, num_kv_heads, block_size, key_dim] f32 or bf16
  Tensor v_cache;  ///< as k_cache, but value_dim wide; empty where v is

  [[nodiscard]] Operands operands() const {
    // A slot names (block, offset): axes 0 and 2 of the cache together.
    return Operands()
        .reads(k)
        .reads(v)
        .reads(slots)
        .add({.tensor = k_cache, .access = Access::kWrite, .indices = slots, .axis = 0})
        .add({.tensor = v_cache, .access = Access::kWrite, .indices = slots, .axis = 0});
  }
};

/// Causal attention of this step's tokens over the cached keys and values of their sequences, which
/// already hold the step's own.
///
/// Sequence s owns tokens [query_start[s], query_start[s + 1]); they are the last ones of its
/// context_lens[s] positions. A token at position p attends to the positions in
/// (p - window, p], or [0, p] when window is 0, and of these to those of its own chunk, when chunk
/// is not 0: chunks are `chunk` positions long and the first starts at 0. Sums run over groups of
/// 16 positions that start at multiples of 16, so a token's result does not depend on chunking or
/// on other sequences.
///
/// Where `chosen` is given, a token attends to the positions that its row names instead, and groups
/// are 16 of those.
///
/// The score of a key at position j for a query at position p, both of query head h, is
///   softcap(scale * q . k) + alibi_slopes[h] * (j - p),  softcap(s) = cap * tanh(s / cap).
/// A sink is one more score of a head, of a key whose value is 0.
/// Sources: Kwon et al. 2023, "Efficient Memory Management for LLM Serving with PagedAttention";
/// Press et al. 2022, "Train Short, Test Long" (ALiBi); Gemma 2's report (soft caps); Xiao et al.
/// 2023, "Efficient Streaming Language Models with Attention Sinks"; Llama 4's model card (chunks);
/// DeepSeek-V3.2's report (chosen positions).
struct AttentionParams {
  Tensor q;        ///< [tokens, num_heads, key_dim] f32; num_heads is a multiple of num_kv_heads
  Tensor k_cache;  ///< [num_blocks, num_kv_heads, block_size, key_dim] f32 or bf16
  Tensor v_cache;  ///< as k_cache, but value_dim wide. It may be a view of the keys' first columns.
  Tensor block_tables;   ///< [sequences, max_blocks] i32
  Tensor query_start;    ///< [sequences + 1] i32
  Tensor context_lens;   ///< [sequences] i32
  Tensor alibi_slopes;   ///< [num_heads] f32; or empty
  Tensor sinks{};        ///< [num_heads] f32, f16 or bf16; or empty
  Tensor chosen{};       ///< [tokens, most] i32; or empty. Of the token at position p the first
                         ///< min(p + 1, most) are used: positions up to p, rising.
  Tensor out;            ///< [tokens, num_heads, value_dim] f32
  float scale = 1.0F;    ///< Multiplies q . k before the softmax.
  float softcap = 0.0F;  ///< 0 = none.
  std::int64_t window = 0;
  std::int64_t chunk = 0;

  [[nodiscard]] Operands operands() const {
    const Operand cache = {.tensor = k_cache,
                           .access = Access::kRead,
                           .indices = block_tables,
                           .axis = 0,
                           .lengths = context_lens};
    Operand values = cache;
    values.tensor = v_cache;
    return Operands()
        .reads(q)
        .add(cache)
        .add(values)
        .reads(block_tables)
        .reads(query_start)
        .reads(context_lens)
        .reads(alibi_slopes)
        .reads(sinks)
        .reads(chosen)
        .writes(out);
  }
};

}  // namespace godwit
