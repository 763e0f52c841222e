#include "base/thread_pool.h"

#include "base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace godwit {
namespace {

// About 50 microseconds on the machines tried: longer than the gap between two kernels of a step,
// much shorter than the gap between two requests.
constexpr int kSpins = 2000;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

/// Waits until `value` differs from `old`: by spinning first where that is useful, then asleep.
template <class T>
void wait_for_change(const std::atomic<T>& value, T old, bool spin) {
  for (int i = 0; spin && i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) {
      return;
    }
    pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(int threads, bool spin) : size_(threads), spin_(spin) {
  CHECK_GE(threads, 1);
  workers_.reserve(static_cast<std::size_t>(threads - 1));
  for (int thread = 1; thread < threads; ++thread) {
    workers_.emplace_back([this, thread] { work(thread); });
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) {
    worker.join();
  }
}

void ThreadPool::run_erased(Function function, const void* context) {
  if (size_ > 1) {
    function_ = function;
    context_ = context;
    unfinished_.store(size_ - 1, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
  }
  function(context, 0);
  for (int left = unfinished_.load(std::memory_order_acquire); left != 0;
       left = unfinished_.load(std::memory_order_acquire)) {
    wait_for_change(unfinished_, left, spin_);
  }
}

void ThreadPool::work(int thread) {
  std::uint32_t seen = 0;
  while (true) {
    wait_for_change(generation_, seen, spin_);
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) {
      return;
    }
    function_(context_, thread);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      unfinished_.notify_one();
    }
  }
}

}  // namespace godwit
