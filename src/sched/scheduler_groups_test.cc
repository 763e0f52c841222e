// Scheduling where groups of layers keep different positions.

#include <algorithm>
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

/// A group that keeps everything, four blocks a slab, and one with a window, one block a slab.
SchedulerOptions two_groups(std::int64_t window, std::int64_t num_slabs) {
  SchedulerOptions options = small_options();
  options.cache = {
      .block_size = 4,
      .unit_bytes = 1,
      .slab_units = 4,
      .num_slabs = num_slabs,
      .groups = {{.retention = {}, .block_units = 1, .blocks_per_slab = 4},
                 {.retention = Retention::window(window), .block_units = 4, .blocks_per_slab = 1}}};
  return options;
}

TEST(SchedulerGroups, AWindowHoldsNoMoreThanItReads) {
  Rig rig(two_groups(6, 20));
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(30), 20)).ok());
  const Sequence* sequence = rig.scheduler.find(SequenceId{1});
  std::int64_t positions = 0;
  while (rig.scheduler.has_sequences()) {
    positions += rig.step().total_tokens;
    if (sequence != nullptr && rig.scheduler.has_sequences()) {
      const std::vector<BlockId>& blocks = sequence->table.blocks()[1];
      const std::int64_t oldest = std::max<std::int64_t>(0, positions - 5) / 4;
      for (std::int64_t i = 0; i < std::ssize(blocks); ++i) {
        EXPECT_EQ(blocks[static_cast<std::size_t>(i)] == kNoBlock, i < oldest) << positions;
      }
    }
  }
  EXPECT_EQ(positions, 49);
  EXPECT_EQ(rig.outputs[SequenceId{1}], expected_output(count_up(30), 20));
}

// Of a long prompt a window needs the end alone, so a hit holds few of its blocks.
TEST(SchedulerGroups, AHitTakesTheEndOfAWindow) {
  Rig rig(two_groups(6, 30));
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(33), 1)).ok());
  rig.drain();
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(33), 1)).ok());
  const ScheduledBatch batch = rig.step();
  EXPECT_EQ(batch.sequences[0].start, 32);
  const GroupBlocks& blocks = batch.sequences[0].new_blocks;
  EXPECT_EQ(std::count(blocks[0].begin(), blocks[0].end(), kNoBlock), 0);
  EXPECT_EQ(std::count(blocks[1].begin(), blocks[1].end(), kNoBlock), 6);
}

// Four sequences grew side by side, so that one's blocks lie in every slab. Taken as a hit they
// would leave too few slabs for the other group, but the cache is large enough.
TEST(SchedulerGroups, AHitThatLiesTooFarApartIsNotTaken) {
  SchedulerOptions options = two_groups(1, 10);
  options.max_num_batched_tokens = 20;
  Rig rig(options);
  for (int id = 1; id <= 4; ++id) {
    ASSERT_TRUE(rig.scheduler.add(make_spec(id, {id}, 24)).ok());
  }
  rig.drain();
  std::vector<TokenId> prompt = {1};
  for (const TokenId token : rig.outputs[SequenceId{1}]) {
    prompt.push_back(token);
  }
  prompt.resize(24);
  const std::vector<TokenId> more = count_up(21);
  prompt.insert(prompt.end(), more.begin(), more.end());
  const std::int64_t before = rig.scheduler.stats().preemptions;
  ASSERT_TRUE(rig.scheduler.add(make_spec(5, prompt, 1)).ok());
  const ScheduledBatch batch = rig.step();
  ASSERT_EQ(batch.sequences.size(), 1U);
  EXPECT_EQ(batch.sequences[0].start, 0);
  rig.drain();
  EXPECT_EQ(rig.scheduler.stats().preemptions, before);
  EXPECT_EQ(rig.outputs[SequenceId{5}], expected_output(prompt, 1));
}

/// A group that keeps everything and one of states, of which the prefix cache keeps one every
/// `spacing` blocks.
SchedulerOptions pages_and_states(std::int64_t spacing) {
  SchedulerOptions options = two_groups(1, 40);
  options.cache.groups[1].retention = Retention::state();
  options.cache.groups[1].state_spacing = spacing;
  return options;
}

std::int64_t num_states(const Sequence& sequence) {
  const std::vector<BlockId>& blocks = sequence.table.blocks()[1];
  return std::ssize(blocks) - std::count(blocks.begin(), blocks.end(), kNoBlock);
}

TEST(SchedulerGroups, ASequenceChangesOneStateInPlace) {
  Rig rig(pages_and_states(100));
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(7), 50)).ok());
  const Sequence* sequence = rig.scheduler.find(SequenceId{1});
  rig.step();  // Ends inside block 1: the state after block 0, where an equal prompt would begin.
  const BlockId first = sequence->table.blocks()[1].back();
  for (int i = 0; i < 40; ++i) {
    rig.step();
    ASSERT_EQ(num_states(*sequence), 1);
    ASSERT_EQ(sequence->table.blocks()[1].back(), first);
  }
}

TEST(SchedulerGroups, AnEqualPromptBeginsWithTheStateBeforeItsLastBlock) {
  Rig rig(pages_and_states(100));
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(33), 1)).ok());
  rig.drain();
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, count_up(33), 9)).ok());
  const ScheduledBatch batch = rig.step();
  EXPECT_EQ(batch.sequences[0].start, 32);
  const GroupBlocks& blocks = batch.sequences[0].new_blocks;
  EXPECT_EQ(std::count(blocks[1].begin(), blocks[1].end(), kNoBlock), 7);
  rig.drain();
  EXPECT_EQ(rig.outputs[SequenceId{2}], expected_output(count_up(33), 9));
}

// The prompt ends with a block, so the step's last state is the one that is kept.
TEST(SchedulerGroups, AStateAtTheEndOfAStepIsKept) {
  SchedulerOptions options = pages_and_states(4);
  Rig rig(options);
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(16), 20)).ok());
  rig.drain();
  std::vector<TokenId> prompt = count_up(16);
  prompt.push_back(40);
  ASSERT_TRUE(rig.scheduler.add(make_spec(2, prompt, 9)).ok());
  EXPECT_EQ(rig.step().sequences[0].start, 16);
  rig.drain();
  EXPECT_EQ(rig.outputs[SequenceId{2}], expected_output(prompt, 9));
}

TEST(SchedulerGroups, StatesAreKeptInsideAStepAndWhilePromptsGoOn) {
  SchedulerOptions options = pages_and_states(3);
  options.max_num_batched_tokens = 64;
  Rig rig(options);
  ASSERT_TRUE(rig.scheduler.add(make_spec(1, count_up(31), 20)).ok());
  rig.drain();
  std::vector<TokenId> prompt = count_up(31);
  for (const TokenId token : rig.outputs[SequenceId{1}]) {
    prompt.push_back(token);
  }
  for (const auto& [length, start] : {std::pair{26, 24}, {50, 48}, {24, 12}, {14, 12}}) {
    std::vector<TokenId> other(prompt.begin(), prompt.begin() + length);
    other.back() = 45;
    ASSERT_TRUE(rig.scheduler.add(make_spec(100 + length, other, 1)).ok());
    EXPECT_EQ(rig.step().sequences[0].start, start) << length;
    rig.drain();
  }
}

// Where two prompts part no state is there for the second, but one is for the third.
TEST(SchedulerGroups, AStateIsKeptWherePromptsPart) {
  Rig rig(pages_and_states(100));
  std::vector<std::int64_t> starts;
  for (int id = 1; id <= 3; ++id) {
    std::vector<TokenId> prompt = count_up(21);
    prompt.insert(prompt.end(), 12, static_cast<TokenId>(40 + id));
    ASSERT_TRUE(rig.scheduler.add(make_spec(id, prompt, 3)).ok());
    starts.push_back(rig.step().sequences[0].start);
    rig.drain();
    EXPECT_EQ(rig.outputs[SequenceId{id}], expected_output(prompt, 3));
  }
  EXPECT_EQ(starts, (std::vector<std::int64_t>{0, 0, 20}));
}

// Nobody is preempted for a state that only the prefix cache wants.
TEST(SchedulerGroups, StatesToKeepGiveWayToSequences) {
  SchedulerOptions options = pages_and_states(1);
  options.cache.num_slabs = 9;  // Four for pages of 64 tokens, five states.
  options.max_num_batched_tokens = 64;
  Rig rig(options);
  for (int id = 1; id <= 3; ++id) {
    ASSERT_TRUE(rig.scheduler.add(make_spec(id, count_up(12, 10 * id), 8)).ok());
  }
  rig.drain();
  EXPECT_EQ(rig.scheduler.stats().preemptions, 0);
  for (int id = 1; id <= 3; ++id) {
    EXPECT_EQ(rig.outputs[SequenceId{id}], expected_output(count_up(12, 10 * id), 8));
  }
}

}  // namespace
}  // namespace godwit
