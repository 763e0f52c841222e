#pragma once
// When a request that failed is worth another try, and how long to wait before it.

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "base/status.h"

namespace godwit {

struct RetryPolicy {
  int attempts = 6;  ///< Tries without progress, the first one included.
  std::chrono::milliseconds first_wait{500};
  std::chrono::milliseconds longest_wait{60'000};  ///< Also of what a server asks for.
  /// How to wait; tests do not.
  std::function<void(std::chrono::milliseconds)> wait = [](std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
  };
};

/// Counts the failures of one piece of work.
class Retries {
 public:
  explicit Retries(const RetryPolicy& policy) : policy_(policy) {}

  /// Waits, and returns ok for another try; the failure itself when it is none of kUnavailable or
  /// one too many. `asked` is what the server wants us to wait.
  Status after(const Status& failure, std::optional<std::chrono::milliseconds> asked = {}) {
    if (failure.code() != StatusCode::kUnavailable || ++failures_ >= policy_.attempts) {
      return failure;
    }
    const std::chrono::milliseconds own = policy_.first_wait * (1 << std::min(failures_ - 1, 16));
    policy_.wait(std::min(std::max(own, asked.value_or(own)), policy_.longest_wait));
    return {};
  }
  /// Something was achieved: what failed before counts no more.
  void reset() { failures_ = 0; }

 private:
  const RetryPolicy& policy_;
  int failures_ = 0;
};

}  // namespace godwit
