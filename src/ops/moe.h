#pragma once
// Ops of a mixture of experts. Errors and threading as in ops/dense.h.

#include "base/status.h"
#include "kernels/params/moe.h"

namespace godwit {
class Stream;
}

namespace godwit::ops {

Status route(Stream& stream, const RouteParams& params);
Status experts(Stream& stream, const ExpertsParams& params);
Status combine_experts(Stream& stream, const CombineExpertsParams& params);

}  // namespace godwit::ops
