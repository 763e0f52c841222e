#include "sched/sequence.h"

#include <algorithm>

namespace godwit {

std::int64_t Sequence::num_schedulable() const {
  return std::min(num_known(), max_positions()) - scheduled;
}

std::int64_t Sequence::max_positions() const {
  // Without output (max_tokens = 0) the whole prompt is computed.
  return std::max(max_len - 1, prompt_len);
}

}  // namespace godwit
