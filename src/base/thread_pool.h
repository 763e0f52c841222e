#pragma once
// The worker threads of a CPU device.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace godwit {

/// A fixed team of threads, the calling thread among them, that runs one function at a time.
///
/// Threading: one thread at a time calls run(). Workers spin briefly for the next call before they
/// sleep, because a step makes hundreds of calls; they sleep at once when `spin` is false (more
/// threads than cores).
class ThreadPool {
 public:
  ThreadPool(int threads, bool spin);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Threads in the team, at least 1.
  [[nodiscard]] int size() const { return size_; }

  /// Calls `task(thread)` once on each thread of the team, thread in [0, size()), and returns when
  /// all have returned. The task must not throw.
  template <class Task>
  void run(const Task& task) {
    run_erased(
        [](const void* context, int thread) { (*static_cast<const Task*>(context))(thread); },
        &task);
  }

  /// Splits [0, count) into contiguous ranges whose borders are multiples of `grain`, one a thread,
  /// and calls `task(begin, end)` for those that are not empty. What a range computes must not
  /// depend on how many ranges there are.
  template <class Task>
  void for_ranges(std::int64_t count, std::int64_t grain, const Task& task) {
    const std::int64_t grains = (count + grain - 1) / grain;
    if (size_ == 1 || grains <= 1) {
      if (count > 0) {
        task(std::int64_t{0}, count);
      }
      return;
    }
    run([&](int thread) {
      const std::int64_t begin = grains * thread / size_ * grain;
      std::int64_t end = grains * (thread + 1) / size_ * grain;
      end = end < count ? end : count;
      if (begin < end) {
        task(begin, end);
      }
    });
  }

 private:
  using Function = void (*)(const void* context, int thread);
  void run_erased(Function function, const void* context);
  void work(int thread);

  int size_;
  bool spin_;
  Function function_ = nullptr;
  const void* context_ = nullptr;
  // Counts the calls of run(); a worker waits until it moves. Even the last one, in ~ThreadPool.
  std::atomic<std::uint32_t> generation_{0};
  std::atomic<int> unfinished_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

}  // namespace godwit
