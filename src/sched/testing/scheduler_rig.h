#pragma once
// A scheduler with a runner that checks every read, stepped by hand.

#include <cstdint>
#include <deque>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sched/scheduler.h"
#include "sched/testing/model_runner_double.h"

namespace godwit::testing {

inline constexpr std::int64_t kVocabulary = 50;

inline SchedulerOptions small_options() {
  SchedulerOptions options;
  options.max_num_seqs = 4;
  options.max_num_batched_tokens = 16;
  options.max_model_len = 64;
  options.cache = CacheLayout::single(16, 4);
  return options;
}

inline std::vector<TokenId> count_up(std::int64_t length, TokenId first = 0) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(length));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

inline SequenceSpec make_spec(int id, std::vector<TokenId> prompt, std::int64_t max_tokens = 8) {
  SequenceSpec spec;
  spec.id = static_cast<SequenceId>(id);
  spec.prompt = std::move(prompt);
  spec.sampling.max_tokens = max_tokens;
  return spec;
}

/// Keeps what its sequences have put out.
class Rig {
 public:
  explicit Rig(const SchedulerOptions& options)
      : scheduler(Scheduler::create(options).value()), runner_(options.cache, kVocabulary) {}

  /// Schedules and executes a step; unless it is empty it stays in flight until settle().
  ScheduledBatch schedule() {
    ScheduledBatch batch = scheduler.schedule();
    scheduler.check_invariants();
    if (!batch.empty()) {
      in_flight_.push_back({.batch = batch, .drawn = runner_.execute(batch)});
    }
    return batch;
  }

  std::vector<SequenceUpdate> settle() {
    const Step step = std::move(in_flight_.front());
    in_flight_.pop_front();
    std::vector<SequenceUpdate> updates = scheduler.settle(step.batch, step.drawn);
    scheduler.check_invariants();
    for (const SequenceUpdate& update : updates) {
      if (update.token) {
        outputs[update.id].push_back(*update.token);
      }
      if (update.finish_reason) {
        reasons[update.id] = *update.finish_reason;
      }
    }
    return updates;
  }

  ScheduledBatch step() {
    ScheduledBatch batch = schedule();
    if (!batch.empty()) {
      settle();
    }
    return batch;
  }

  /// Runs with `depth` batches in flight until nothing is left.
  void drain(std::size_t depth = 1) {
    while (scheduler.has_sequences() || !in_flight_.empty()) {
      while (in_flight_.size() < depth && !schedule().empty()) {
      }
      if (in_flight_.empty()) {
        FAIL() << "no progress";
      }
      settle();
    }
  }

  Scheduler scheduler;
  std::map<SequenceId, std::vector<TokenId>> outputs;
  std::map<SequenceId, FinishReason> reasons;

 private:
  struct Step {
    ScheduledBatch batch;
    std::vector<SampledToken> drawn;
  };
  RunnerDouble runner_;
  std::deque<Step> in_flight_;
};

/// What the model puts out after a prompt, without a scheduler.
inline std::vector<TokenId> expected_output(const std::vector<TokenId>& prompt,
                                            std::int64_t length) {
  std::uint64_t digest = start_digest("");
  for (const TokenId token : prompt) {
    digest = mix(digest, static_cast<std::uint64_t>(token) + 2);
  }
  std::vector<TokenId> output;
  for (std::int64_t i = 0; i < length; ++i) {
    output.push_back(draw(digest, kVocabulary));
    digest = mix(digest, static_cast<std::uint64_t>(output.back()) + 2);
  }
  return output;
}

}  // namespace godwit::testing
