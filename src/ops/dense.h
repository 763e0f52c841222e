#pragma once
// Ops on rows of activations. Each checks shapes and types and calls the device's kernel; what the
// operands mean is said at the params structs.

#include "base/status.h"
#include "kernels/params/dense.h"

namespace godwit {
class Stream;
}

namespace godwit::ops {

// Errors of all ops: kInternal when shapes or types do not fit together (a fault of the caller,
// since weights are checked when they are read); kUnimplemented when the device has no such kernel.
// Threading: they enqueue on the stream; tensors must live until the work is done.

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

}  // namespace godwit::ops
