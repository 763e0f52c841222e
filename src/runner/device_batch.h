#pragma once
// A step's positions, slots and block tables as device tensors.

#include <cstdint>

#include "base/status.h"
#include "device/stream.h"
#include "kv/cache_layout.h"
#include "layers/context.h"
#include "runner/sequence_table.h"
#include "sched/scheduled_batch.h"

namespace godwit {

struct DeviceBatch {
  Tensor buffer_rows;           ///< [tokens] i32: each token's row of the token buffer
  AttentionMetadata attention;  ///< attention.positions is where it stands in that row
};

/// Builds the tensors in the stream's workspace; they live as long as the caller's scope.
/// CHECKs that every sequence's blocks cover its positions.
Result<DeviceBatch> make_device_batch(Stream& stream, const ScheduledBatch& batch,
                                      SequenceTable& sequences, const CacheLayout& layout);

}  // namespace godwit
