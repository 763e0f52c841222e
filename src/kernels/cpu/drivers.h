#pragma once
// Kernels as the table wants them, for a given set of inner loops: they read the tensors, take
// scratch and split the work among the threads. How it is split never shows in the results.

#include "kernels/cpu/isa_kernels.h"
#include "kernels/kernel_table.h"

namespace godwit::cpu {

Status embedding(const IsaKernels& isa, Stream& stream, const EmbeddingParams& params);
Status rms_norm(const IsaKernels& isa, Stream& stream, const RmsNormParams& params);
Status layer_norm(const IsaKernels& isa, Stream& stream, const LayerNormParams& params);
Status gemm(const IsaKernels& isa, Stream& stream, const GemmParams& params);
Status activation(const IsaKernels& isa, Stream& stream, const ActivationParams& params);
Status gated_activation(const IsaKernels& isa, Stream& stream, const GatedActivationParams& params);
Status add(const IsaKernels& isa, Stream& stream, const AddParams& params);
Status scale(const IsaKernels& isa, Stream& stream, const ScaleParams& params);
Status clamp(const IsaKernels& isa, Stream& stream, const ClampParams& params);
Status gather_rows(const IsaKernels& isa, Stream& stream, const GatherRowsParams& params);

Status mix_streams(const IsaKernels& isa, Stream& stream, const MixStreamsParams& params);
Status match_size(const IsaKernels& isa, Stream& stream, const MatchSizeParams& params);
Status scale_channels(const IsaKernels& isa, Stream& stream, const ScaleChannelsParams& params);
Status keep_largest(const IsaKernels& isa, Stream& stream, const KeepLargestParams& params);

Status causal_conv(const IsaKernels& isa, Stream& stream, const CausalConvParams& params);
Status step_size(const IsaKernels& isa, Stream& stream, const StepSizeParams& params);
Status selective_scan(const IsaKernels& isa, Stream& stream, const SelectiveScanParams& params);
Status linear_recurrence(const IsaKernels& isa, Stream& stream,
                         const LinearRecurrenceParams& params);

Status route(const IsaKernels& isa, Stream& stream, const RouteParams& params);
Status experts(const IsaKernels& isa, Stream& stream, const ExpertsParams& params);
Status combine_experts(const IsaKernels& isa, Stream& stream, const CombineExpertsParams& params);

Status rope(const IsaKernels& isa, Stream& stream, const RopeParams& params);
Status kv_write(const IsaKernels& isa, Stream& stream, const KvWriteParams& params);
Status attention(const IsaKernels& isa, Stream& stream, const AttentionParams& params);
Status head_gemm(const IsaKernels& isa, Stream& stream, const HeadGemmParams& params);
Status choose_positions(const IsaKernels& isa, Stream& stream, const ChoosePositionsParams& params);

Status gather_tokens(const IsaKernels& isa, Stream& stream, const GatherTokensParams& params);
Status scatter_tokens(const IsaKernels& isa, Stream& stream, const ScatterTokensParams& params);
Status process_logits(const IsaKernels& isa, Stream& stream, const ProcessLogitsParams& params);
Status mask_logits(const IsaKernels& isa, Stream& stream, const MaskLogitsParams& params);
Status sample(const IsaKernels& isa, Stream& stream, const SampleParams& params);
Status token_logprobs(const IsaKernels& isa, Stream& stream, const TokenLogprobsParams& params);

}  // namespace godwit::cpu
