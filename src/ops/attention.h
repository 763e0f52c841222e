#pragma once
// Ops around the paged cache of keys and values. Errors and threading as in ops/dense.h.

#include "base/status.h"
#include "kernels/params/attention.h"

namespace godwit {
class Stream;
}

namespace godwit::ops {

Status rope(Stream& stream, const RopeParams& params);
Status kv_write(Stream& stream, const KvWriteParams& params);
Status attention(Stream& stream, const AttentionParams& params);

}  // namespace godwit::ops
