#include "ops/sampling.h"

#include "device/device.h"
#include "kernels/kernel_table.h"
#include "ops/shape_check.h"

namespace godwit::ops {
namespace {
constexpr auto kAny = ShapeCheck::kAny;
}

Status gather_tokens(Stream& stream, const GatherTokensParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t tokens = params.out.dim(0);
  TRY(ShapeCheck("gather_tokens")
          .i32("token_buffer", params.token_buffer)
          .shape("token_buffer", params.token_buffer, {kAny, kAny})
          .i32("buffer_rows", params.buffer_rows)
          .shape("buffer_rows", params.buffer_rows, {tokens})
          .i32("positions", params.positions)
          .shape("positions", params.positions, {tokens})
          .i32("out", params.out)
          .shape("out", params.out, {tokens})
          .kernel(kernels.gather_tokens != nullptr, kernels.name)
          .status());
  return kernels.gather_tokens(stream, params);
}

Status scatter_tokens(Stream& stream, const ScatterTokensParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t rows = params.tokens.dim(0);
  TRY(ShapeCheck("scatter_tokens")
          .i32("tokens", params.tokens)
          .shape("tokens", params.tokens, {rows})
          .i32("buffer_rows", params.buffer_rows)
          .shape("buffer_rows", params.buffer_rows, {rows})
          .i32("positions", params.positions)
          .shape("positions", params.positions, {rows})
          .i32("token_buffer", params.token_buffer)
          .shape("token_buffer", params.token_buffer, {kAny, kAny})
          .kernel(kernels.scatter_tokens != nullptr, kernels.name)
          .status());
  return kernels.scatter_tokens(stream, params);
}

Status process_logits(Stream& stream, const ProcessLogitsParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t rows = params.logits.dim(0);
  const std::int64_t entries = params.bias_ids.dim(0);
  TRY(ShapeCheck("process_logits")
          .f32("logits", params.logits)
          .shape("logits", params.logits, {rows, kAny})
          .i32("token_buffer", params.token_buffer)
          .shape("token_buffer", params.token_buffer, {kAny, kAny})
          .i32("buffer_rows", params.buffer_rows)
          .shape("buffer_rows", params.buffer_rows, {rows})
          .i32("prompt_lens", params.prompt_lens)
          .shape("prompt_lens", params.prompt_lens, {rows})
          .i32("total_lens", params.total_lens)
          .shape("total_lens", params.total_lens, {rows})
          .f32("repetition", params.repetition)
          .shape("repetition", params.repetition, {rows})
          .f32("frequency", params.frequency)
          .shape("frequency", params.frequency, {rows})
          .f32("presence", params.presence)
          .shape("presence", params.presence, {rows})
          .i32("bias_start", params.bias_start)
          .shape("bias_start", params.bias_start, {rows + 1})
          .i32("bias_ids", params.bias_ids)
          .shape("bias_ids", params.bias_ids, {entries})
          .f32("bias_values", params.bias_values)
          .shape("bias_values", params.bias_values, {entries})
          .f32("out", params.out)
          .same_shape("out", params.out, params.logits)
          .kernel(kernels.process_logits != nullptr, kernels.name)
          .status());
  return kernels.process_logits(stream, params);
}

Status mask_logits(Stream& stream, const MaskLogitsParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t rows = params.logits.dim(0);
  TRY(ShapeCheck("mask_logits")
          .f32("logits", params.logits)
          .shape("logits", params.logits, {rows, kAny})
          .i32("token_buffer", params.token_buffer)
          .shape("token_buffer", params.token_buffer, {kAny, kAny})
          .i32("buffer_rows", params.buffer_rows)
          .shape("buffer_rows", params.buffer_rows, {rows})
          .i32("prompt_lens", params.prompt_lens)
          .shape("prompt_lens", params.prompt_lens, {rows})
          .i32("total_lens", params.total_lens)
          .shape("total_lens", params.total_lens, {rows})
          .i32("allowed_start", params.allowed_start)
          .shape("allowed_start", params.allowed_start, {rows + 1})
          .i32("allowed_ids", params.allowed_ids)
          .shape("allowed_ids", params.allowed_ids, {kAny})
          .i32("ban_start", params.ban_start)
          .shape("ban_start", params.ban_start, {rows + 1})
          .i32("ban_offsets", params.ban_offsets)
          .shape("ban_offsets", params.ban_offsets, {kAny})
          .i32("ban_ids", params.ban_ids)
          .shape("ban_ids", params.ban_ids, {kAny})
          .kernel(kernels.mask_logits != nullptr, kernels.name)
          .status());
  return kernels.mask_logits(stream, params);
}

Status sample(Stream& stream, const SampleParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t rows = params.logits.dim(0);
  TRY(ShapeCheck("sample")
          .f32("logits", params.logits)
          .shape("logits", params.logits, {rows, kAny})
          .f32("temperature", params.temperature)
          .shape("temperature", params.temperature, {rows})
          .i32("top_k", params.top_k)
          .shape("top_k", params.top_k, {rows})
          .f32("top_p", params.top_p)
          .shape("top_p", params.top_p, {rows})
          .f32("min_p", params.min_p)
          .shape("min_p", params.min_p, {rows})
          .i64("seeds", params.seeds)
          .shape("seeds", params.seeds, {rows})
          .i64("steps", params.steps)
          .shape("steps", params.steps, {rows})
          .i32("tokens", params.tokens)
          .shape("tokens", params.tokens, {rows})
          .kernel(kernels.sample != nullptr, kernels.name)
          .status());
  return kernels.sample(stream, params);
}

Status token_logprobs(Stream& stream, const TokenLogprobsParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t rows = params.logits.dim(0);
  ShapeCheck check("token_logprobs");
  check.f32("logits", params.logits)
      .shape("logits", params.logits, {rows, kAny})
      .i32("tokens", params.tokens)
      .shape("tokens", params.tokens, {rows})
      .f32("logprobs", params.logprobs)
      .shape("logprobs", params.logprobs, {rows})
      .i32("ranks", params.ranks)
      .shape("ranks", params.ranks, {rows})
      .kernel(kernels.token_logprobs != nullptr, kernels.name);
  if (!params.top_ids.empty()) {
    const std::int64_t top_n = params.top_ids.dim(1);
    check.i32("top_ids", params.top_ids)
        .shape("top_ids", params.top_ids, {rows, top_n})
        .f32("top_logprobs", params.top_logprobs)
        .shape("top_logprobs", params.top_logprobs, {rows, top_n})
        .require(top_n <= params.logits.dim(1), "more alternatives than the vocabulary holds");
  }
  if (!params.chosen_ids.empty()) {
    const std::int64_t chosen = params.chosen_ids.dim(1);
    check.i32("chosen_ids", params.chosen_ids)
        .shape("chosen_ids", params.chosen_ids, {rows, chosen})
        .f32("chosen_logprobs", params.chosen_logprobs)
        .shape("chosen_logprobs", params.chosen_logprobs, {rows, chosen});
  }
  TRY(check.status());
  return kernels.token_logprobs(stream, params);
}

}  // namespace godwit::ops
