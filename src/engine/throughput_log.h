#pragma once
// The periodic line that tells how busy an engine is: tokens a second, requests, cache. What
// /metrics tells programs, for people who watch a terminal.

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "engine/metrics.h"

namespace godwit {

/// The line about the time between two readings. The prefix hit rate is that of the prompts looked
/// up in it, or of all when there were none.
std::string throughput_line(const EngineTotals& before, const EngineTotals& now,
                            Clock::Duration elapsed);

/// Whether tokens were computed between two readings, or requests are there.
bool is_busy(const EngineTotals& before, const EngineTotals& now);

/// Logs that line while something happens, and once after it; a quiet engine logs nothing.
class ThroughputLog {
 public:
  /// Starts a thread of its own. `metrics` and `clock` must outlive this.
  ThroughputLog(const Metrics& metrics, const Clock& clock, std::chrono::milliseconds interval);
  ~ThroughputLog();
  ThroughputLog(const ThroughputLog&) = delete;
  ThroughputLog& operator=(const ThroughputLog&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace godwit
