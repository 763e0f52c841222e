#pragma once
// The oracle: every kernel in plain scalar code with sums in double precision, on one thread.

#include "kernels/kernel_table.h"

namespace godwit::ref {

Status embedding(Stream& stream, const EmbeddingParams& params);
Status rms_norm(Stream& stream, const RmsNormParams& params);
Status layer_norm(Stream& stream, const LayerNormParams& params);
Status gemm(Stream& stream, const GemmParams& params);
Status activation(Stream& stream, const ActivationParams& params);
Status gated_activation(Stream& stream, const GatedActivationParams& params);
Status add(Stream& stream, const AddParams& params);
Status scale(Stream& stream, const ScaleParams& params);
Status clamp(Stream& stream, const ClampParams& params);
Status gather_rows(Stream& stream, const GatherRowsParams& params);

Status causal_conv(Stream& stream, const CausalConvParams& params);
Status step_size(Stream& stream, const StepSizeParams& params);
Status selective_scan(Stream& stream, const SelectiveScanParams& params);
Status linear_recurrence(Stream& stream, const LinearRecurrenceParams& params);
Status mix_streams(Stream& stream, const MixStreamsParams& params);
Status match_size(Stream& stream, const MatchSizeParams& params);
Status scale_channels(Stream& stream, const ScaleChannelsParams& params);
Status keep_largest(Stream& stream, const KeepLargestParams& params);

Status route(Stream& stream, const RouteParams& params);
Status experts(Stream& stream, const ExpertsParams& params);
Status combine_experts(Stream& stream, const CombineExpertsParams& params);

Status rope(Stream& stream, const RopeParams& params);
Status kv_write(Stream& stream, const KvWriteParams& params);
Status attention(Stream& stream, const AttentionParams& params);
Status head_gemm(Stream& stream, const HeadGemmParams& params);
Status choose_positions(Stream& stream, const ChoosePositionsParams& params);

Status gather_tokens(Stream& stream, const GatherTokensParams& params);
Status scatter_tokens(Stream& stream, const ScatterTokensParams& params);
Status process_logits(Stream& stream, const ProcessLogitsParams& params);
Status mask_logits(Stream& stream, const MaskLogitsParams& params);
Status sample(Stream& stream, const SampleParams& params);
Status token_logprobs(Stream& stream, const TokenLogprobsParams& params);

/// The table of the functions above.
const KernelTable& kernel_table();

}  // namespace godwit::ref
