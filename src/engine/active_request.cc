#include "engine/active_request.h"

#include <algorithm>

namespace godwit {

bool ActiveRequest::finished() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const ActiveOutput& output) { return output.finished; });
}

std::int64_t ActiveRequest::longest_output() const {
  std::int64_t longest = 0;
  for (const ActiveOutput& output : outputs) {
    longest = std::max(longest, output.times.generation_tokens);
  }
  return longest;
}

SequenceSpec make_sequence_spec(const Request& request, SequenceId id, std::int32_t index,
                                std::int64_t base_seed) {
  SequenceSpec spec;
  spec.id = id;
  spec.prompt = request.prompt;
  spec.sampling = request.sampling;
  if (index > 0) {
    // The outputs share the prompt; its log probabilities are reported with the first.
    spec.sampling.prompt_logprobs.reset();
    spec.leader = SequenceId{static_cast<std::int64_t>(id) - index};
  }
  // Unsigned arithmetic wraps where a client's seed is the largest one.
  const auto first = static_cast<std::uint64_t>(request.sampling.seed.value_or(base_seed));
  spec.seed = static_cast<std::int64_t>(first + static_cast<std::uint64_t>(index));
  spec.priority = request.priority;
  spec.cache_salt = request.cache_salt;
  return spec;
}

}  // namespace godwit
