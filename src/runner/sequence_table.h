#pragma once
// What the runner remembers of each running sequence.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "kv/cache_layout.h"
#include "request/sampling_params.h"
#include "sched/scheduled_batch.h"

namespace godwit {

struct RunnerSequence {
  std::int32_t buffer_row = 0;  ///< Its row of the token buffer.
  std::int64_t prompt_len = 0;
  std::int64_t seed = 0;
  SamplingParams sampling;
  GroupBlocks blocks;  ///< Its block tables.
};

/// Gives each sequence a row of the token buffer. CHECKs that the scheduler keeps to max_num_seqs.
class SequenceTable {
 public:
  explicit SequenceTable(std::int64_t max_num_seqs);

  RunnerSequence& start(const StartedSequence& started);
  /// Forgets a sequence; one that never started here is ignored.
  void drop(SequenceId id);
  RunnerSequence& at(SequenceId id);
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(sequences_.size()); }

 private:
  std::unordered_map<SequenceId, RunnerSequence> sequences_;
  std::vector<std::int32_t> free_rows_;
};

}  // namespace godwit
