#pragma once
// Ops of multi-head latent attention. Errors and threading as in ops/dense.h.

#include "base/status.h"
#include "kernels/params/mla.h"

namespace godwit {
class Stream;
}

namespace godwit::ops {

Status head_gemm(Stream& stream, const HeadGemmParams& params);
Status choose_positions(Stream& stream, const ChoosePositionsParams& params);

}  // namespace godwit::ops
