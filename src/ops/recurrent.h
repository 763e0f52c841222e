#pragma once
// Ops that carry a state from token to token. Errors and threading as in ops/dense.h.

#include "base/status.h"
#include "kernels/params/recurrent.h"

namespace godwit {
class Stream;
}

namespace godwit::ops {

Status causal_conv(Stream& stream, const CausalConvParams& params);

}  // namespace godwit::ops
