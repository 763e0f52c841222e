#include "runner/sequence_table.h"

#include "base/check.h"

namespace godwit {

SequenceTable::SequenceTable(std::int64_t max_num_seqs) {
  for (std::int64_t row = max_num_seqs; row > 0; --row) {
    free_rows_.push_back(static_cast<std::int32_t>(row - 1));
  }
}

RunnerSequence& SequenceTable::start(const StartedSequence& started) {
  CHECK(!free_rows_.empty());
  const auto [entry, added] = sequences_.try_emplace(started.id);
  CHECK(added);
  RunnerSequence& sequence = entry->second;
  sequence.buffer_row = free_rows_.back();
  free_rows_.pop_back();
  sequence.prompt_len = started.prompt_len;
  sequence.seed = started.seed;
  sequence.sampling = started.sampling;
  return sequence;
}

void SequenceTable::drop(SequenceId id) {
  const auto entry = sequences_.find(id);
  if (entry != sequences_.end()) {
    free_rows_.push_back(entry->second.buffer_row);
    sequences_.erase(entry);
  }
}

RunnerSequence& SequenceTable::at(SequenceId id) {
  const auto entry = sequences_.find(id);
  CHECK(entry != sequences_.end());
  return entry->second;
}

}  // namespace godwit
