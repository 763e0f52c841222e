#pragma once
// Parameters of the kernels that turn logits into tokens. One row is one sequence that draws a
// token in this step. The runner keeps every sequence's tokens in a token buffer on the device, so
// that no value of a token has to pass through the host before the next step.

#include "kernels/operand.h"
#include "tensor/tensor.h"

namespace godwit {

/// out[t] = token_buffer[buffer_rows[t], positions[t]].
struct GatherTokensParams {
  Tensor token_buffer;  ///< [buffer_size, max_tokens] i32
  Tensor buffer_rows;   ///< [tokens] i32
  Tensor positions;     ///< [tokens] i32
  Tensor out;           ///< [tokens] i32

  [[nodiscard]] Operands operands() const {
    return Operands()
        .add({.tensor = token_buffer, .access = Access::kRead, .indices = buffer_rows, .axis = 0})
        .reads(buffer_rows)
        .reads(positions)
        .writes(out);
  }
};

/// token_buffer[buffer_rows[r], positions[r]] = tokens[r].
struct ScatterTokensParams {
  Tensor tokens;        ///< [rows] i32
  Tensor buffer_rows;   ///< [rows] i32
  Tensor positions;     ///< [rows] i32
  Tensor token_buffer;  ///< [buffer_size, max_tokens] i32

  [[nodiscard]] Operands operands() const {
    return Operands()
        .reads(tokens)
        .reads(buffer_rows)
        .reads(positions)
        .add({.tensor = token_buffer, .access = Access::kWrite, .indices = buffer_rows, .axis = 0});
  }
};

/// Adds the bias of each row and then applies its penalties.
///
/// The row's tokens are token_buffer[buffer_row, 0 .. total_len), the first prompt_len of them its
/// prompt. For each distinct token of all of them: logit /= repetition if the logit is > 0, else
/// logit *= repetition. For each distinct token of the output, which occurs c times:
/// logit -= frequency * c + presence. A bias of -infinity bans a token; bias entries whose id is
/// outside the vocabulary are skipped.
/// Source: OpenAI's API reference (frequency, presence); Keskar et al. 2019, section 4.1
/// (repetition).
struct ProcessLogitsParams {
  Tensor logits;        ///< [rows, vocab] f32
  Tensor token_buffer;  ///< [buffer_size, max_tokens] i32
  Tensor buffer_rows;   ///< [rows] i32
  Tensor prompt_lens;   ///< [rows] i32
  Tensor total_lens;    ///< [rows] i32
  Tensor repetition;    ///< [rows] f32, 1 = off
  Tensor frequency;     ///< [rows] f32, 0 = off
  Tensor presence;      ///< [rows] f32, 0 = off
  Tensor bias_start;   ///< [rows + 1] i32: row r has the entries bias_start[r] .. bias_start[r + 1]
  Tensor bias_ids;     ///< [entries] i32
  Tensor bias_values;  ///< [entries] f32
  Tensor out;          ///< [rows, vocab] f32, may be logits

  [[nodiscard]] Operands operands() const {
    return Operands()
        .reads(logits)
        .add({.tensor = token_buffer, .access = Access::kRead, .indices = buffer_rows, .axis = 0})
        .reads(buffer_rows)
        .reads(prompt_lens)
        .reads(total_lens)
        .reads(repetition)
        .reads(frequency)
        .reads(presence)
        .reads(bias_start)
        .reads(bias_ids)
        .reads(bias_values)
        .writes(out);
  }
};

/// Sets the logits of the tokens that must not be drawn to -infinity, in place.
///
/// Row r allows the ids allowed_ids[allowed_start[r] .. allowed_start[r + 1]) alone, or all when
/// that range is empty. It also bans the sequences ban_start[r] .. ban_start[r + 1), where sequence
/// s has the tokens ban_ids[ban_offsets[s] .. ban_offsets[s + 1]): the last token of a sequence is
/// banned where the tokens before it are the last tokens of the row's output, which is
/// token_buffer[buffer_row, prompt_len .. total_len). Ids outside the vocabulary are skipped.
/// Source: the documented meaning of vLLM's allowed_token_ids and bad_words.
struct MaskLogitsParams {
  Tensor logits;         ///< [rows, vocab] f32, changed
  Tensor token_buffer;   ///< [buffer_size, max_tokens] i32
  Tensor buffer_rows;    ///< [rows] i32
  Tensor prompt_lens;    ///< [rows] i32
  Tensor total_lens;     ///< [rows] i32
  Tensor allowed_start;  ///< [rows + 1] i32
  Tensor allowed_ids;    ///< [allowed] i32, ascending within a row
  Tensor ban_start;      ///< [rows + 1] i32
  Tensor ban_offsets;    ///< [sequences + 1] i32
  Tensor ban_ids;        ///< [banned] i32

  [[nodiscard]] Operands operands() const {
    return Operands()
        .updates(logits)
        .add({.tensor = token_buffer, .access = Access::kRead, .indices = buffer_rows, .axis = 0})
        .reads(buffer_rows)
        .reads(prompt_lens)
        .reads(total_lens)
        .reads(allowed_start)
        .reads(allowed_ids)
        .reads(ban_start)
        .reads(ban_offsets)
        .reads(ban_ids);
  }
};

/// Draws one token a row.
///
/// temperature 0: the largest logit, the lowest id among equals. Else p = softmax(logits /
/// temperature); then min_p drops tokens with p < min_p * max(p); top_k keeps the k largest (ties
/// at the cut: lowest ids); top_p keeps the smallest set of the largest (ties: lowest ids first)
/// whose sum reaches top_p of what is left, at least one. The token is drawn by inverse CDF over
/// the kept ones in order of id, sums in double, with one uniform number in [0, 1) from
/// Philox4x32-10(key = seeds[r], counter = steps[r]): the first 53 bits of its first two words.
/// A row therefore depends on nothing but its own logits and values. NaN logits count as -infinity;
/// when all are -infinity or NaN the token is -1.
/// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3" (Philox); Holtzman et
/// al. 2020 (top_p).
struct SampleParams {
  Tensor logits;       ///< [rows, vocab] f32
  Tensor temperature;  ///< [rows] f32, >= 0
  Tensor top_k;        ///< [rows] i32, 0 = off
  Tensor top_p;        ///< [rows] f32, 1 = off
  Tensor min_p;        ///< [rows] f32, 0 = off
  Tensor seeds;        ///< [rows] i64
  Tensor steps;        ///< [rows] i64
  Tensor tokens;       ///< [rows] i32, the result

  [[nodiscard]] Operands operands() const {
    return Operands()
        .reads(logits)
        .reads(temperature)
        .reads(top_k)
        .reads(top_p)
        .reads(min_p)
        .reads(seeds)
        .reads(steps)
        .writes(tokens);
  }
};

/// log_softmax of each row, at one token, at its top_n largest tokens and at given ones.
struct TokenLogprobsParams {
  Tensor logits;        ///< [rows, vocab] f32
  Tensor tokens;        ///< [rows] i32; a token outside the vocabulary gives NaN and rank 0
  Tensor logprobs;      ///< [rows] f32: natural log of the token's probability
  Tensor ranks;         ///< [rows] i32: 1 + how many tokens have a larger logit
  Tensor top_ids;       ///< [rows, top_n] i32, largest first, ties lowest id first; empty for none
  Tensor top_logprobs;  ///< [rows, top_n] f32; empty for none
  Tensor chosen_ids;    ///< [rows, chosen] i32; empty for none
  Tensor chosen_logprobs;  ///< [rows, chosen] f32; NaN for an id outside the vocabulary

  [[nodiscard]] Operands operands() const {
    return Operands()
        .reads(logits)
        .reads(tokens)
        .writes(logprobs)
        .writes(ranks)
        .writes(top_ids)
        .writes(top_logprobs)
        .reads(chosen_ids)
        .writes(chosen_logprobs);
  }
};

}  // namespace godwit
