#include "sched/scheduler.h"

#include <vector>

#include <gtest/gtest.h>

#include "sched/testing/scheduler_rig.h"

namespace godwit {
namespace {

using testing::count_up;
using testing::expected_output;
using testing::make_spec;
using testing::Rig;
using testing::small_options;

constexpr SequenceId kA{1};
constexpr SequenceId kB{2};
constexpr SequenceId kC{3};

TEST(SchedulerOptions, AreChecked) {
  SchedulerOptions options = small_options();
  options.cache.num_slabs = 0;
  EXPECT_EQ(Scheduler::create(options).status().code(), StatusCode::kInvalidArgument);
  options = small_options();
  options.max_model_len = 1;
  EXPECT_FALSE(Scheduler::create(options).ok());
  options = small_options();
  options.enable_chunked_prefill = false;  // 16 tokens a step, prompts of up to 63.
  EXPECT_NE(Scheduler::create(options).status().message().find("max_num_batched_tokens is 16"),
            std::string::npos);
  options.max_num_batched_tokens = 64;
  EXPECT_TRUE(Scheduler::create(options).ok());
  options.long_prefill_token_threshold = 8;
  EXPECT_FALSE(Scheduler::create(options).ok());
}

TEST(SchedulerAdd, RefusesWhatCanNeverFitWithTheNumbers) {
  SchedulerOptions options = small_options();
  options.cache.num_slabs = 8;  // 32 tokens
  Scheduler scheduler = Scheduler::create(options).value();
  EXPECT_FALSE(scheduler.add(make_spec(1, {})).ok());
  Status status = scheduler.add(make_spec(1, count_up(64)));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("64 tokens, but at most 63"), std::string::npos);
  // 25 + 9 tokens, the last of which is never computed: 33 positions.
  status = scheduler.add(make_spec(1, count_up(25), 9));
  EXPECT_NE(status.message().find("needs 9 bytes of cache, but there are 8"), std::string::npos);
  EXPECT_FALSE(scheduler.has_sequences());
  EXPECT_TRUE(scheduler.add(make_spec(1, count_up(25), 8)).ok());
  // max_tokens beyond the context is cut to it, also where a sum would overflow.
  options.cache.num_slabs = 16;
  Scheduler larger = Scheduler::create(options).value();
  EXPECT_TRUE(larger.add(make_spec(1, count_up(10), INT64_MAX)).ok());
  EXPECT_FALSE(larger.add(make_spec(2, count_up(10), -1)).ok());
}

TEST(Scheduler, PromptThenOneTokenAStep) {
  Rig rig(small_options());
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(6), 3)).ok());
  const ScheduledBatch prompt = rig.step();
  ASSERT_EQ(prompt.sequences.size(), 1U);
  EXPECT_EQ(prompt.started.size(), 1U);
  EXPECT_EQ(prompt.started[0].tokens, count_up(6));
  EXPECT_EQ(prompt.sequences[0].start, 0);
  EXPECT_EQ(prompt.sequences[0].count, 6);
  EXPECT_EQ(prompt.sequences[0].new_blocks[0].size(), 2U);
  EXPECT_TRUE(prompt.sequences[0].samples);
  const ScheduledBatch decode = rig.step();
  EXPECT_TRUE(decode.started.empty());
  EXPECT_EQ(decode.sequences[0].start, 6);
  EXPECT_EQ(decode.sequences[0].count, 1);
  EXPECT_TRUE(decode.sequences[0].new_blocks[0].empty());
  rig.drain();
  EXPECT_EQ(rig.outputs[kA], expected_output(count_up(6), 3));
  EXPECT_EQ(rig.reasons[kA], FinishReason::kLength);
  EXPECT_EQ(rig.scheduler.stats().cache.num_free_units, 16);
}

TEST(Scheduler, AnEmptyBatchCostsNoStepAndKeepsWhatWasDropped) {
  Rig rig(small_options());
  EXPECT_TRUE(rig.scheduler.schedule().empty());
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(6), 3)).ok());
  EXPECT_EQ(rig.step().step, 1);
  EXPECT_TRUE(rig.scheduler.finish(kA));
  EXPECT_FALSE(rig.scheduler.finish(kA));
  EXPECT_TRUE(rig.scheduler.schedule().dropped.empty());
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(6), 3)).ok());
  const ScheduledBatch next = rig.step();
  EXPECT_EQ(next.step, 2);
  EXPECT_EQ(next.dropped, std::vector{kA});
}

TEST(Scheduler, ASequenceThatNeverRanIsNotDropped) {
  Rig rig(small_options());
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(6), 3)).ok());
  EXPECT_TRUE(rig.scheduler.finish(kA));
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(6), 3)).ok());
  EXPECT_TRUE(rig.step().dropped.empty());
}

TEST(Scheduler, ChunksShareAStepWithDecodes) {
  Rig rig(small_options());
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(4), 8)).ok());
  rig.step();
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(20, 30), 8)).ok());
  const ScheduledBatch mixed = rig.step();
  ASSERT_EQ(mixed.sequences.size(), 2U);
  EXPECT_EQ(mixed.sequences[0].count, 1);
  EXPECT_TRUE(mixed.sequences[0].samples);
  EXPECT_EQ(mixed.sequences[1].count, 15);
  EXPECT_FALSE(mixed.sequences[1].samples);
  EXPECT_EQ(mixed.total_tokens, 16);
  const ScheduledBatch rest = rig.step();
  EXPECT_EQ(rest.sequences[1].start, 15);
  EXPECT_EQ(rest.sequences[1].count, 5);
  EXPECT_TRUE(rest.sequences[1].samples);
  rig.drain();
  EXPECT_EQ(rig.outputs[kB], expected_output(count_up(20, 30), 8));
}

TEST(Scheduler, LongPrefillThresholdLimitsEachSequence) {
  SchedulerOptions options = small_options();
  options.long_prefill_token_threshold = 5;
  Rig rig(options);
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(12), 2)).ok());
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(12, 20), 2)).ok());
  const ScheduledBatch batch = rig.step();
  ASSERT_EQ(batch.sequences.size(), 2U);
  EXPECT_EQ(batch.sequences[0].count, 5);
  EXPECT_EQ(batch.sequences[1].count, 5);
  rig.drain();
}

TEST(Scheduler, WithoutChunkedPrefillAPromptWaitsForAStepThatHoldsIt) {
  SchedulerOptions options = small_options();
  options.enable_chunked_prefill = false;
  options.max_num_batched_tokens = 64;
  options.cache.num_slabs = 32;
  Rig rig(options);
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(31), 2)).ok());
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(34, 100), 2)).ok());
  EXPECT_EQ(rig.step().sequences.size(), 1U);
  EXPECT_EQ(rig.step().sequences.size(), 2U);
  rig.drain();
}

TEST(Scheduler, MaxNumSeqsLimitsRunning) {
  SchedulerOptions options = small_options();
  options.max_num_seqs = 2;
  Rig rig(options);
  for (int id = 1; id <= 3; ++id) {
    ASSERT_TRUE(rig.scheduler.add(make_spec(id, count_up(2), 2)).ok());
  }
  EXPECT_EQ(rig.step().sequences.size(), 2U);
  EXPECT_EQ(rig.scheduler.stats().waiting, 1);
  rig.drain();
  EXPECT_EQ(rig.reasons.size(), 3U);
}

TEST(Scheduler, PriorityChoosesWhoStarts) {
  SchedulerOptions options = small_options();
  options.policy = SchedulingPolicy::kPriority;
  options.max_num_seqs = 1;
  Rig rig(options);
  const std::vector<std::int32_t> priorities{5, 0, 5, -1};
  for (int id = 0; id < 4; ++id) {
    SequenceSpec spec = make_spec(id, count_up(2), 1);
    spec.priority = priorities[static_cast<std::size_t>(id)];
    ASSERT_TRUE(rig.scheduler.add(std::move(spec)).ok());
  }
  std::vector<SequenceId> order;
  while (rig.scheduler.has_sequences()) {
    order.push_back(rig.step().sequences.at(0).id);
  }
  EXPECT_EQ(order, (std::vector{SequenceId{3}, SequenceId{1}, SequenceId{0}, SequenceId{2}}));
}

TEST(Scheduler, MaxTokensZeroComputesThePromptAndEnds) {
  Rig rig(small_options());
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(20), 0)).ok());
  EXPECT_FALSE(rig.step().sequences[0].samples);
  const ScheduledBatch last = rig.schedule();
  EXPECT_EQ(last.sequences[0].count, 4);
  EXPECT_FALSE(last.sequences[0].samples);
  const std::vector<SequenceUpdate> updates = rig.settle();
  ASSERT_EQ(updates.size(), 1U);
  EXPECT_EQ(updates[0].token, std::nullopt);
  EXPECT_EQ(updates[0].finish_reason, FinishReason::kLength);
}

TEST(Scheduler, APromptWithoutOutputMayFillTheWholeContext) {
  Rig rig(small_options());
  EXPECT_FALSE(rig.scheduler.add(make_spec(1, count_up(64), 1)).ok());
  EXPECT_FALSE(rig.scheduler.add(make_spec(1, count_up(65), 0)).ok());
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(64), 0)).ok());
  for (int step = 0; step < 4; ++step) {
    rig.schedule();
    rig.settle();
  }
  EXPECT_FALSE(rig.scheduler.has_sequences());
}

TEST(Scheduler, StopTokenIsReported) {
  Rig rig(small_options());
  const TokenId second = expected_output(count_up(6), 2)[1];
  SequenceSpec spec = make_spec(1, count_up(6), 8);
  spec.sampling.stop_token_ids = {second};
  ASSERT_TRUE(rig.scheduler.add(std::move(spec)).ok());
  rig.step();
  rig.schedule();
  const std::vector<SequenceUpdate> updates = rig.settle();
  EXPECT_EQ(updates.at(0).finish_reason, FinishReason::kStop);
  EXPECT_EQ(updates.at(0).stop_token, second);
  EXPECT_FALSE(rig.scheduler.has_sequences());
}

TEST(Scheduler, ASecondRequestReusesThePrefix) {
  Rig rig(small_options());
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(10), 1)).ok());
  rig.drain();
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(10), 1)).ok());
  const ScheduledBatch batch = rig.schedule();
  EXPECT_EQ(batch.sequences[0].start, 8);
  EXPECT_EQ(batch.sequences[0].count, 2);
  EXPECT_EQ(batch.sequences[0].new_blocks[0].size(), 3U);
  EXPECT_EQ(rig.settle().at(0).cached_tokens, 8);
  EXPECT_EQ(rig.outputs[kA], rig.outputs[kB]);
  EXPECT_EQ(rig.scheduler.stats().prefix_queries, 20);
  EXPECT_EQ(rig.scheduler.stats().prefix_hits, 8);
}

TEST(Scheduler, OutputsOfOneRequestComputeItsPromptOnce) {
  SchedulerOptions options = small_options();
  options.max_num_batched_tokens = 6;
  Rig rig(options);
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(10), 2)).ok());
  SequenceSpec follower = make_spec(2, count_up(10), 2);
  follower.leader = kA;
  ASSERT_TRUE(rig.scheduler.add(std::move(follower)).ok());
  ASSERT_TRUE(rig.scheduler.add(make_spec(3, count_up(2, 30), 1)).ok());
  EXPECT_EQ(rig.step().sequences.size(), 1U) << "6 of the leader's positions";
  const ScheduledBatch second = rig.step();
  EXPECT_EQ(static_cast<int>(second.sequences.at(1).id), 3);
  EXPECT_EQ(rig.scheduler.stats().deferred, 1);
  const ScheduledBatch third = rig.step();
  EXPECT_EQ(third.sequences.at(1).start, 8) << "two blocks are the leader's";
  rig.drain();
  EXPECT_EQ(rig.outputs[kA], rig.outputs[kB]);
}

// kv.md H 8
TEST(Scheduler, PromptLogprobsDoNotReadTheCache) {
  Rig rig(small_options());
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(10), 1)).ok());
  rig.drain();
  SequenceSpec spec = make_spec(2, count_up(10), 1);
  spec.sampling.prompt_logprobs = 1;
  ASSERT_TRUE(rig.scheduler.add(std::move(spec)).ok());
  EXPECT_EQ(rig.step().sequences[0].start, 0);
  EXPECT_EQ(rig.outputs[kA], rig.outputs[kB]);
  EXPECT_EQ(rig.scheduler.stats().prefix_queries, 10);
}

// kv.md H 10 and 11: what a step in flight computes is not there yet, and if its sequence is
// aborted it never will be.
TEST(Scheduler, UnsettledBlocksAreNotShared) {
  Rig rig(small_options());
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(6), 4)).ok());
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(6), 4)).ok());
  EXPECT_EQ(rig.schedule().sequences.at(1).start, 0);
  ASSERT_TRUE(rig.scheduler.finish(kA));
  ASSERT_TRUE(rig.scheduler.finish(kB));
  ASSERT_TRUE(rig.scheduler.add(make_spec(3, count_up(6), 4)).ok());
  EXPECT_EQ(rig.schedule().sequences.at(0).start, 0);
  EXPECT_TRUE(rig.settle().empty());
  EXPECT_EQ(rig.scheduler.stats().stale_results, 2);
  rig.drain();
  EXPECT_EQ(rig.outputs[kC], expected_output(count_up(6), 4));
}

// kv.md H 35 and 38: a preemption with k tokens in flight loses and repeats none, and the tokens
// that the runner gets back all have values.
TEST(Scheduler, PreemptionWithTokensInFlightKeepsTheOutput) {
  for (std::size_t depth = 1; depth <= 4; ++depth) {
    SchedulerOptions options = small_options();
    options.cache.num_slabs = 6;
    Rig rig(options);
    ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(5), 16)).ok());
    ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(5, 20), 16)).ok());
    rig.drain(depth);
    EXPECT_EQ(rig.outputs[kA], expected_output(count_up(5), 16));
    EXPECT_EQ(rig.outputs[kB], expected_output(count_up(5, 20), 16));
    EXPECT_GE(rig.scheduler.stats().preemptions, 1);
    // The victim was in each of the steps in flight; the end of a sequence leaves some stale as
    // well.
    EXPECT_GE(rig.scheduler.stats().stale_results, static_cast<std::int64_t>(depth) - 1);
  }
}

TEST(Scheduler, FcfsPreemptsTheLastAndResumesItWithItsTokens) {
  SchedulerOptions options = small_options();
  options.cache.num_slabs = 5;
  options.enable_prefix_caching = false;
  Rig rig(options);
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(7), 8)).ok());
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(6, 20), 8)).ok());
  while (rig.scheduler.stats().preemptions == 0) {
    rig.step();
  }
  EXPECT_EQ(rig.scheduler.find(kB)->num_preemptions, 1);
  const std::vector<TokenId> so_far = rig.outputs[kB];
  EXPECT_FALSE(so_far.empty());
  ScheduledBatch batch;
  while (batch.started.empty()) {
    batch = rig.step();
  }
  std::vector<TokenId> tokens = count_up(6, 20);
  tokens.insert(tokens.end(), so_far.begin(), so_far.end());
  EXPECT_EQ(batch.started[0].id, kB);
  EXPECT_EQ(batch.started[0].prompt_len, 6);
  EXPECT_EQ(batch.started[0].tokens, tokens);
  rig.drain();
  EXPECT_EQ(rig.outputs[kB], expected_output(count_up(6, 20), 8));
}

// A sequence that is back in a step while results from before its preemption are in flight must not
// take them for new ones.
TEST(Scheduler, ResultsFromBeforeAPreemptionStayStaleAfterTheRestart) {
  SchedulerOptions options = small_options();
  options.cache.num_slabs = 4;
  Rig rig(options);
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(4), 10)).ok());
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(4, 20), 10)).ok());
  while (rig.scheduler.stats().preemptions == 0) {
    ASSERT_FALSE(rig.schedule().empty());
  }
  ASSERT_TRUE(rig.scheduler.finish(kA));
  const ScheduledBatch restart = rig.schedule();
  ASSERT_EQ(restart.started.size(), 1U);
  EXPECT_EQ(restart.started[0].id, kB);
  EXPECT_EQ(restart.started[0].tokens, count_up(4, 20));  // No token of it has settled yet.
  rig.drain();
  EXPECT_EQ(rig.outputs[kB], expected_output(count_up(4, 20), 10));
}

// kv.md H 37
TEST(Scheduler, PreemptionInsideAChunkedPromptKeepsTheOutput) {
  SchedulerOptions options = small_options();
  options.cache.num_slabs = 10;
  options.long_prefill_token_threshold = 2;
  Rig rig(options);
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(3), 30)).ok());
  while (rig.outputs[kA].size() < 5) {
    rig.step();
  }
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(22, 20), 4)).ok());
  bool inside_prompt = false;
  while (rig.scheduler.stats().preemptions == 0) {
    ASSERT_NE(rig.scheduler.find(kB), nullptr);
    inside_prompt = rig.outputs[kB].empty() && rig.scheduler.find(kB)->scheduled > 0;
    rig.step();
  }
  EXPECT_TRUE(inside_prompt);
  rig.drain();
  EXPECT_EQ(rig.outputs[kA], expected_output(count_up(3), 30));
  EXPECT_EQ(rig.outputs[kB], expected_output(count_up(22, 20), 4));
}

// kv.md H 36: the rig checks the counters after each step.
TEST(Scheduler, ChunksBesideDecodesInFlightKeepTheCountersSound) {
  SchedulerOptions options = small_options();
  options.cache.num_slabs = 16;
  options.max_num_batched_tokens = 5;
  Rig rig(options);
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(3), 12)).ok());
  rig.step();
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(17, 20), 6)).ok());
  rig.drain(2);
  EXPECT_EQ(rig.outputs[kA], expected_output(count_up(3), 12));
  EXPECT_EQ(rig.outputs[kB], expected_output(count_up(17, 20), 6));
}

// kv.md H 39: a victim that already has its place in the step gives it back, and the sequence after
// it is not skipped.
TEST(Scheduler, APriorityVictimThatWasScheduledGivesItsPlaceBack) {
  SchedulerOptions options = small_options();
  options.policy = SchedulingPolicy::kPriority;
  options.cache.num_slabs = 6;
  options.enable_prefix_caching = false;
  Rig rig(options);
  const std::vector<std::int32_t> priorities{9, 0, 1};
  for (int i = 0; i < 3; ++i) {
    // Admitted in the order of arrival, since each starts before the next one comes.
    SequenceSpec spec = make_spec(i + 1, count_up(i == 0 ? 2 : 4, 10 * i), 7);
    spec.priority = priorities[static_cast<std::size_t>(i)];
    ASSERT_TRUE(rig.scheduler.add(std::move(spec)).ok());
    rig.step();
  }
  ASSERT_EQ(rig.scheduler.stats().running, 3);
  ScheduledBatch batch;
  while (rig.scheduler.stats().preemptions == 0) {
    batch = rig.step();
  }
  EXPECT_EQ(batch.dropped, std::vector{kA});
  ASSERT_EQ(batch.sequences.size(), 2U);
  EXPECT_EQ(batch.sequences[0].id, kB);
  EXPECT_EQ(batch.sequences[1].id, kC);
  EXPECT_EQ(batch.total_tokens, 2);
  rig.drain();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(rig.outputs[static_cast<SequenceId>(i + 1)],
              expected_output(count_up(i == 0 ? 2 : 4, 10 * i), 7));
  }
}

// kv.md H 42: a head that does not fit yet holds back what is behind it, and starts as soon as the
// running ones have ended.
TEST(Scheduler, TheHeadOfTheQueueIsNotOvertaken) {
  for (const SchedulingPolicy policy : {SchedulingPolicy::kFcfs, SchedulingPolicy::kPriority}) {
    SchedulerOptions options = small_options();
    options.policy = policy;
    options.cache.num_slabs = 8;
    Rig rig(options);
    ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(8), 6)).ok());
    rig.step();
    ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(30, 20), 2)).ok());  // All blocks.
    ASSERT_TRUE(rig.scheduler.add(make_spec(3, count_up(2, 60), 2)).ok());
    EXPECT_EQ(rig.step().sequences.size(), 1U);
    std::vector<SequenceId> started;
    while (rig.scheduler.has_sequences()) {
      for (const StartedSequence& sequence : rig.step().started) {
        started.push_back(sequence.id);
      }
    }
    EXPECT_EQ(started, (std::vector{kB, kC}));
    EXPECT_EQ(rig.scheduler.stats().preemptions, 0);
  }
}

TEST(Scheduler, AdmissionLeavesRunningSequencesTheirNextBlocks) {
  SchedulerOptions options = small_options();
  options.cache.num_slabs = 4;
  options.enable_prefix_caching = false;
  Rig rig(options);
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(3), 8)).ok());
  rig.step();
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(12, 20), 2)).ok());
  // Three blocks are free and it needs three, but the first one will need two of them.
  EXPECT_EQ(rig.step().sequences.size(), 1U);
  rig.drain();
  EXPECT_EQ(rig.scheduler.stats().preemptions, 0);
}

TEST(Scheduler, NothingIsScheduledBeyondTheLastToken) {
  Rig rig(small_options());
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(4), 2)).ok());
  EXPECT_FALSE(rig.schedule().empty());
  EXPECT_EQ(rig.schedule().sequences.at(0).start, 4);
  // Both tokens are in flight. Only the first one is an input.
  EXPECT_TRUE(rig.scheduler.schedule().empty());
  rig.drain();
  EXPECT_EQ(rig.outputs[kA], expected_output(count_up(4), 2));
  EXPECT_EQ(rig.scheduler.stats().stale_results, 0);
}

TEST(Scheduler, ATokenDrawnAfterTheEndIsIgnored) {
  SchedulerOptions options = small_options();
  options.eos_ids = {expected_output(count_up(4), 1)[0]};
  Rig rig(options);
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(4), 8)).ok());
  rig.schedule();
  rig.schedule();
  EXPECT_EQ(rig.settle().at(0).finish_reason, FinishReason::kStop);
  EXPECT_TRUE(rig.settle().empty());
  EXPECT_EQ(rig.scheduler.stats().stale_results, 1);
  EXPECT_EQ(rig.outputs[kA].size(), 1U);
  EXPECT_EQ(rig.scheduler.stats().cache.num_free_units, 16);
}

TEST(SchedulerDeathTest, RefusesResultsOutOfOrder) {
  Rig rig(small_options());
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(4), 8)).ok());
  const ScheduledBatch first = rig.scheduler.schedule();
  const ScheduledBatch second = rig.scheduler.schedule();
  const std::vector<SampledToken> drawn{{.id = kA, .token = 1}};
  EXPECT_DEATH(rig.scheduler.settle(second, drawn), "settled_step_");
  EXPECT_DEATH(rig.scheduler.settle(first, {}), "num_taken");
}

}  // namespace
}  // namespace godwit
