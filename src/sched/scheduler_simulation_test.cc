#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "sched/testing/scheduler_simulator.h"

namespace godwit {
namespace {

// A violation aborts; then the scenario's seed is what one needs to play it again
// (GODWIT_SIMULATION_SEED=n).
volatile std::sig_atomic_t current_seed = 0;

void print_seed(int /*signal*/) {
  std::fprintf(stderr, "scenario seed %d\n", int{current_seed});
}

testing::SimulationTotals play(int seed) {
  current_seed = seed;
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  testing::SchedulerSimulator simulator([&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  });
  return simulator.run();
}

TEST(SchedulerSimulation, RandomScenariosKeepEveryInvariantAndEveryOutput) {
  int first = 1;
  int last = 14'000;
  if (const char* seed = std::getenv("GODWIT_SIMULATION_SEED"); seed != nullptr) {
    first = last = std::atoi(seed);
  }
  const auto previous = std::signal(SIGABRT, print_seed);
  testing::SimulationTotals totals;
  for (int seed = first; seed <= last; ++seed) {
    totals += play(seed);
  }
  std::signal(SIGABRT, previous);
  if (first == last) {
    return;
  }
  // The scenarios must have reached what they are for.
  EXPECT_GT(totals.steps, 100'000);
  EXPECT_GT(totals.preemptions, 2'000);
  EXPECT_GT(totals.victims_scheduled, 500);
  EXPECT_GT(totals.stale_results, 5'000);
  EXPECT_GT(totals.prefix_hits, 5'000);
  EXPECT_GT(totals.evictions, 5'000);
  EXPECT_GT(totals.chunks, 5'000);
  EXPECT_GT(totals.mixed_steps, 5'000);
  EXPECT_GT(totals.deep_steps, 5'000);
  EXPECT_GT(totals.released, 10'000);
  EXPECT_GT(totals.partial_hits, 1'000);
  EXPECT_GT(totals.state_hits, 500);
  EXPECT_GT(totals.refused, 1'000);
  EXPECT_GT(totals.aborted, 1'000);
  EXPECT_GT(totals.stop_strings, 1'000);
  EXPECT_GT(totals.stopped, 1'000);
  EXPECT_GT(totals.full_length, 1'000);
  EXPECT_GT(totals.prompt_only, 1'000);
}

}  // namespace
}  // namespace godwit
