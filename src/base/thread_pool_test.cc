#include "base/thread_pool.h"

#include <vector>

#include <gtest/gtest.h>

namespace godwit {
namespace {

TEST(ThreadPoolTest, RunsTheTaskOnceOnEachThread) {
  for (const bool spin : {true, false}) {
    for (const int threads : {1, 2, 5}) {
      ThreadPool pool(threads, spin);
      std::vector<int> calls(static_cast<std::size_t>(threads), 0);
      for (int repeat = 0; repeat < 200; ++repeat) {
        pool.run([&](int thread) { ++calls[static_cast<std::size_t>(thread)]; });
      }
      EXPECT_EQ(calls, std::vector<int>(static_cast<std::size_t>(threads), 200));
    }
  }
}

TEST(ThreadPoolTest, RangesCoverEverythingOnceAndBeginAtGrains) {
  ThreadPool pool(3, true);
  for (const std::int64_t count : {0, 1, 15, 16, 17, 100}) {
    std::vector<int> covered(static_cast<std::size_t>(count), 0);
    pool.for_ranges(count, 16, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(begin % 16, 0);
      for (std::int64_t i = begin; i < end; ++i) {
        ++covered[static_cast<std::size_t>(i)];
      }
    });
    EXPECT_EQ(covered, std::vector<int>(static_cast<std::size_t>(count), 1));
  }
}

}  // namespace
}  // namespace godwit
