#pragma once
// The kernels of one device, as a constant table of function pointers.

#include "base/status.h"
#include "kernels/params/attention.h"
#include "kernels/params/dense.h"
#include "kernels/params/mla.h"
#include "kernels/params/moe.h"
#include "kernels/params/recurrent.h"
#include "kernels/params/sampling.h"
#include "kernels/params/scan.h"
#include "kernels/params/streams.h"

namespace godwit {

class Stream;

template <class Params>
using Kernel = Status (*)(Stream& stream, const Params& params);

/// A null entry means that the device has no such kernel; the op then says so. Kernels trust shapes
/// and dtypes, which ops/ has checked.
struct KernelTable {
  const char* name = "";

  Kernel<EmbeddingParams> embedding = nullptr;
  Kernel<RmsNormParams> rms_norm = nullptr;
  Kernel<LayerNormParams> layer_norm = nullptr;
  Kernel<GemmParams> gemm = nullptr;
  Kernel<ActivationParams> activation = nullptr;
  Kernel<GatedActivationParams> gated_activation = nullptr;
  Kernel<AddParams> add = nullptr;
  Kernel<ScaleParams> scale = nullptr;
  Kernel<ClampParams> clamp = nullptr;
  Kernel<GatherRowsParams> gather_rows = nullptr;

  Kernel<MixStreamsParams> mix_streams = nullptr;
  Kernel<MatchSizeParams> match_size = nullptr;
  Kernel<ScaleChannelsParams> scale_channels = nullptr;
  Kernel<KeepLargestParams> keep_largest = nullptr;

  Kernel<CausalConvParams> causal_conv = nullptr;
  Kernel<StepSizeParams> step_size = nullptr;
  Kernel<SelectiveScanParams> selective_scan = nullptr;
  Kernel<LinearRecurrenceParams> linear_recurrence = nullptr;

  Kernel<RouteParams> route = nullptr;
  Kernel<ExpertsParams> experts = nullptr;
  Kernel<CombineExpertsParams> combine_experts = nullptr;

  Kernel<RopeParams> rope = nullptr;
  Kernel<KvWriteParams> kv_write = nullptr;
  Kernel<AttentionParams> attention = nullptr;
  Kernel<HeadGemmParams> head_gemm = nullptr;
  Kernel<ChoosePositionsParams> choose_positions = nullptr;

  Kernel<GatherTokensParams> gather_tokens = nullptr;
  Kernel<ScatterTokensParams> scatter_tokens = nullptr;
  Kernel<ProcessLogitsParams> process_logits = nullptr;
  Kernel<MaskLogitsParams> mask_logits = nullptr;
  Kernel<SampleParams> sample = nullptr;
  Kernel<TokenLogprobsParams> token_logprobs = nullptr;
};

}  // namespace godwit
