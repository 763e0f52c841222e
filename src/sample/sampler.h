#pragma once
// Draws tokens from logits, row by row, by ops that run on the device.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "device/stream.h"
#include "request/request.h"
#include "request/sampling_params.h"
#include "tensor/tensor.h"

namespace godwit {

/// One sequence that draws a token in this step.
struct SampleRow {
  const SamplingParams* sampling = nullptr;
  std::int64_t seed = 0;
  std::int32_t buffer_row = 0;  ///< Its row of the token buffer.
  std::int32_t prompt_len = 0;
  std::int32_t total_len = 0;        ///< Tokens it has; the drawn one takes this position.
  std::span<const TokenId> eos_ids;  ///< Not drawn before min_tokens, like the stop ids.
};

/// A drawn token, with its log probability when the row asks for logprobs. The token is -1 when the
/// logits hold no number to draw from.
struct DrawnToken {
  TokenId token = -1;
  std::optional<TokenLogprob> logprob;
};

/// Draws one token a row and writes it into the token buffer. Log probabilities are those of the
/// logits as the model gave them, before bias, penalties and temperature.
///
/// Shapes: logits [rows, vocab_size] f32, overwritten; token_buffer [buffer_size, max_tokens] i32.
Result<std::vector<DrawnToken>> draw_tokens(Stream& stream, Tensor& logits, Tensor& token_buffer,
                                            std::span<const SampleRow> rows);

/// Log probabilities of given tokens. Beside each: its row's list in `chosen`, or the `top_n` most
/// likely tokens where that list is empty (as are all when `chosen` is).
/// Shapes: logits [rows, vocab_size] f32; tokens [rows] i32, on the device.
Result<std::vector<TokenLogprob>> read_logprobs(Stream& stream, const Tensor& logits,
                                                const Tensor& tokens, std::int32_t top_n,
                                                std::span<const std::span<const TokenId>> chosen);

}  // namespace godwit
