// Plays scheduler scenarios whose decisions are the fuzzer's bytes; see SchedulerSimulator.

#include <cstddef>
#include <cstdint>

#include "sched/scheduler.h"
#include "sched/testing/scheduler_simulator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::size_t next = 0;
  // When the bytes are used up every decision is 0, which lets the scenario run to its end.
  godwit::testing::SchedulerSimulator simulator(
      [&](std::int64_t n) -> std::int64_t { return next < size ? data[next++] % n : 0; });
  simulator.run();
  return 0;
}
