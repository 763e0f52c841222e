#pragma once
// What one render may cost. Templates come with checkpoints from anywhere, so every loop, call,
// copy and nesting is charged here, and the first limit that is reached ends the render with an
// error that names it.

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace godwit::jinja {

struct Limits {
  std::size_t max_source_bytes = std::size_t{4} << 20U;
  /// Nesting of expressions and statements in the source.
  int max_source_depth = 100;
  /// Nesting of evaluations at run time, calls of macros included. One macro call costs about 8.
  int max_call_depth = 600;
  /// Nesting of lists and dicts.
  int max_value_depth = 250;
  /// Expressions evaluated, items produced and, 32 to the step, bytes written.
  std::int64_t max_steps = 20'000'000;
  /// Size of the render and of every string made on the way.
  std::size_t max_output_bytes = std::size_t{64} << 20U;
  /// Items of one list.
  std::int64_t max_list_items = 1'000'000;
  /// Size of range(), as in Jinja's sandbox.
  std::int64_t max_range = 100'000;
};

/// The rest of one render's limits.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  [[nodiscard]] const Limits& limits() const { return limits_; }

  /// Charges `count` evaluations.
  Status charge(std::int64_t count) {
    steps_ += count;
    return steps_ > limits_.max_steps ? out_of_steps() : Status();
  }
  /// Charges a new string of `size` bytes, before it is made.
  Status charge_bytes(std::size_t size);
  /// Charges a new list of `count` items, before it is made.
  Status charge_items(std::int64_t count);
  /// Checks the nesting of a new list or dict.
  [[nodiscard]] Status check_value_depth(int depth) const;
  /// Enters one evaluation; leave() must follow when it succeeds.
  Status enter() { return ++depth_ > limits_.max_call_depth ? too_deep() : Status(); }
  void leave() { --depth_; }

 private:
  [[nodiscard]] Status out_of_steps() const;
  [[nodiscard]] Status too_deep();

  Limits limits_;
  std::int64_t steps_ = 0;
  int depth_ = 0;
};

/// Enters an evaluation for the life of a block.
class DepthGuard {
 public:
  explicit DepthGuard(Budget& budget) : budget_(budget), status_(budget.enter()) {}
  ~DepthGuard() {
    if (status_.ok()) {
      budget_.leave();
    }
  }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  DepthGuard(DepthGuard&&) = delete;
  DepthGuard& operator=(DepthGuard&&) = delete;

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  Budget& budget_;
  Status status_;
};

}  // namespace godwit::jinja
