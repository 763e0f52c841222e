#pragma once
// Ops on several residual streams. Errors and threading as in ops/dense.h.

#include "base/status.h"
#include "kernels/params/streams.h"

namespace godwit {
class Stream;
}

namespace godwit::ops {

Status mix_streams(Stream& stream, const MixStreamsParams& params);
Status match_size(Stream& stream, const MatchSizeParams& params);
Status scale_channels(Stream& stream, const ScaleChannelsParams& params);
Status keep_largest(Stream& stream, const KeepLargestParams& params);

}  // namespace godwit::ops
