#include "engine/throughput_log.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"

namespace godwit {
namespace {

double per_second(std::int64_t count, Clock::Duration elapsed) {
  const double seconds = std::chrono::duration<double>(elapsed).count();
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

/// In percent.
double hit_rate(const EngineTotals& before, const EngineTotals& now) {
  const bool is_recent = now.prefix_queries > before.prefix_queries;
  const std::int64_t queries = now.prefix_queries - (is_recent ? before.prefix_queries : 0);
  const std::int64_t hits = now.prefix_hits - (is_recent ? before.prefix_hits : 0);
  return queries > 0 ? 100.0 * static_cast<double>(hits) / static_cast<double>(queries) : 0.0;
}

void write_line(const EngineTotals& before, const EngineTotals& now, Clock::Duration elapsed) {
  log::event(log::Level::kInfo, throughput_line(before, now, elapsed),
             JsonObject{{"prompt_tokens_per_second",
                         per_second(now.prompt_tokens - before.prompt_tokens, elapsed)},
                        {"generation_tokens_per_second",
                         per_second(now.generation_tokens - before.generation_tokens, elapsed)},
                        {"running", now.running},
                        {"waiting", now.waiting},
                        {"kv_cache_usage_percent", 100.0 * now.kv_cache_usage},
                        {"prefix_hit_rate_percent", hit_rate(before, now)}});
}

}  // namespace

std::string throughput_line(const EngineTotals& before, const EngineTotals& now,
                            Clock::Duration elapsed) {
  return fmt::format(
      "Avg prompt throughput: {:.1f} tokens/s, Avg generation throughput: {:.1f} tokens/s, "
      "Running: {} reqs, Waiting: {} reqs, KV cache usage: {:.1f}%, Prefix cache hit rate: {:.1f}%",
      per_second(now.prompt_tokens - before.prompt_tokens, elapsed),
      per_second(now.generation_tokens - before.generation_tokens, elapsed), now.running,
      now.waiting, 100.0 * now.kv_cache_usage, hit_rate(before, now));
}

bool is_busy(const EngineTotals& before, const EngineTotals& now) {
  return now.prompt_tokens != before.prompt_tokens ||
         now.generation_tokens != before.generation_tokens || now.running > 0 || now.waiting > 0;
}

struct ThroughputLog::Impl {
  Impl(const Metrics& engine_metrics, const Clock& time) : metrics(engine_metrics), clock(time) {}

  void run(std::chrono::milliseconds interval) {
    EngineTotals before = metrics.totals();
    Clock::Duration then = clock.now();
    bool was_busy = false;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, interval, [this] { return stopping; })) {
      const EngineTotals now = metrics.totals();
      const Clock::Duration time = clock.now();
      const bool busy = is_busy(before, now);
      if (busy || was_busy) {
        write_line(before, now, time - then);
      }
      was_busy = busy;
      before = now;
      then = time;
    }
  }

  const Metrics& metrics;
  const Clock& clock;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false;  // guarded by mutex
  std::thread thread;
};

ThroughputLog::ThroughputLog(const Metrics& metrics, const Clock& clock,
                             std::chrono::milliseconds interval)
    : impl_(std::make_unique<Impl>(metrics, clock)) {
  impl_->thread = std::thread([impl = impl_.get(), interval] { impl->run(interval); });
}

ThroughputLog::~ThroughputLog() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wake.notify_one();
  impl_->thread.join();
}

}  // namespace godwit
