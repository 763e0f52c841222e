#pragma once
// Ops that turn logits into tokens. Errors and threading as in ops/dense.h.

#include "base/status.h"
#include "kernels/params/sampling.h"

namespace godwit {
class Stream;
}

namespace godwit::ops {

Status gather_tokens(Stream& stream, const GatherTokensParams& params);
Status scatter_tokens(Stream& stream, const ScatterTokensParams& params);
Status process_logits(Stream& stream, const ProcessLogitsParams& params);
Status mask_logits(Stream& stream, const MaskLogitsParams& params);
Status sample(Stream& stream, const SampleParams& params);
Status token_logprobs(Stream& stream, const TokenLogprobsParams& params);

}  // namespace godwit::ops
