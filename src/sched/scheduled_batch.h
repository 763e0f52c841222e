#pragma once
// What one step computes: the only thing that a rank needs from the scheduler.

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "kv/cache_layout.h"
#include "request/sampling_params.h"

namespace godwit {

/// A sequence that the runner meets for the first time, or again after a preemption.
struct StartedSequence {
  SequenceId id{};
  std::vector<TokenId> tokens;  ///< Prompt, and the output so far after a preemption.
  std::int64_t prompt_len = 0;
  SamplingParams sampling;
  std::int64_t seed = 0;  ///< The drawn or given seed of this sequence.
};

/// One sequence's share of the step: positions [start, start + count) of its tokens.
struct ScheduledSequence {
  SequenceId id{};
  std::int64_t start = 0;
  std::int64_t count = 0;
  /// Appended to its block tables, one of each group of layers. After a start these are all its
  /// blocks, and those of positions before `start` hold their keys and values already (a prefix hit
  /// ends at a block's end); kNoBlock where the group does not need them.
  GroupBlocks new_blocks;
  /// Whether the step reaches the end of its known tokens, so that a token is drawn after it.
  bool samples = false;
  /// Tokens guessed for the positions after start + count - draft_tokens.size(); the runner says
  /// how many it accepted.
  std::vector<TokenId> draft_tokens;
};

/// A plain value. Batches are executed in the order in which they were scheduled; a block may pass
/// to another sequence while an earlier batch still uses it. Positions are named, never the value
/// of a token that is still in flight: the runner keeps every sequence's tokens.
struct ScheduledBatch {
  std::int64_t step = 0;
  /// Finished or preempted since the last step: forget them first. A preempted one may start again.
  std::vector<SequenceId> dropped;
  std::vector<StartedSequence> started;
  std::vector<ScheduledSequence> sequences;
  std::int64_t total_tokens = 0;  ///< Sum of the counts.

  /// An empty batch carries nothing at all and need not be executed.
  [[nodiscard]] bool empty() const { return sequences.empty(); }
};

}  // namespace godwit
