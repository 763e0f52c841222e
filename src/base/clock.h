#pragma once
// Time comes from here, so that tests can move it.

#include <chrono>

namespace godwit {

/// Reads time. Thread-safe.
class Clock {
 public:
  using Duration = std::chrono::nanoseconds;
  virtual ~Clock() = default;
  /// Time since an arbitrary start; never goes back.
  [[nodiscard]] virtual Duration now() const = 0;
  /// Seconds since 1970-01-01 UTC.
  [[nodiscard]] virtual std::int64_t unix_seconds() const = 0;
};

/// The system's clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Duration now() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
  [[nodiscard]] std::int64_t unix_seconds() const override {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace godwit
