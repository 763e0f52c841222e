#pragma once
// What the engine counts and times, in Prometheus' text form. Names, labels and buckets are vLLM's,
// because dashboards, routers and load generators know them. Not a log, and not per request.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "request/request.h"

namespace godwit {

struct MetricsOptions {
  std::string model_name;          ///< The label `model_name`: the first served name.
  std::int64_t max_model_len = 1;  ///< The largest bucket of the token histograms.
  /// Labels of the constant gauge vllm:cache_config_info: {"block_size", "16"},
  /// {"num_gpu_blocks", "4096"}, {"cache_dtype", "auto"}, {"enable_prefix_caching", "True"}, ...
  std::vector<std::pair<std::string, std::string>> cache_config;
};

/// The state between two steps.
struct LoadMetrics {
  std::int64_t running = 0;  ///< Sequences that take part in steps.
  std::int64_t waiting = 0;
  std::int64_t deferred = 0;    ///< Of the waiting: those that wait for another one's prompt.
  double kv_cache_usage = 0.0;  ///< Fraction of the cache's blocks in use, 0 to 1.
};

/// What one step did.
struct StepMetrics {
  std::int64_t prompt_tokens = 0;         ///< Of prompts that started in it: all their tokens.
  std::int64_t cached_prompt_tokens = 0;  ///< Those of them that came from the prefix cache.
  std::int64_t generation_tokens = 0;     ///< Tokens that were drawn.
  std::int64_t batch_tokens = 0;          ///< Tokens that the step computed, prompts and decodes.
  std::int64_t preemptions = 0;
  std::int64_t prefix_queries = 0;  ///< Tokens looked up in the prefix cache.
  std::int64_t prefix_hits = 0;     ///< Tokens found there.
};

/// What an engine has done so far, and its load.
struct EngineTotals {
  std::int64_t prompt_tokens = 0;  ///< Those that were computed, not taken from the prefix cache.
  std::int64_t generation_tokens = 0;
  std::int64_t prefix_queries = 0;
  std::int64_t prefix_hits = 0;
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  double kv_cache_usage = 0.0;
};

/// The life of one output: readings of the Clock, and counts. A stage that was never reached keeps
/// a time of zero; what would be computed from it is left out.
struct OutputMetrics {
  Clock::Duration arrived{};      ///< submit() was called.
  Clock::Duration scheduled{};    ///< Its first token was put into a step.
  Clock::Duration first_token{};  ///< Its first token came.
  Clock::Duration last_token{};   ///< Its last token came.
  Clock::Duration finished{};     ///< It ended.
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t generation_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t max_tokens = 0;
};

/// Counters, gauges and histograms of one engine.
///
/// Threading: every method may be called from any thread.
class Metrics {
 public:
  explicit Metrics(const MetricsOptions& options);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void set_load(const LoadMetrics& load);
  void add_step(const StepMetrics& step);
  /// Records the time from submit() to an output's first token.
  void record_first_token(Clock::Duration since_arrival);
  /// Records the time between two tokens of one output.
  void record_inter_token(Clock::Duration since_last_token);
  /// Records an output that ended; called once for each of a request's n outputs.
  void record_finished(const OutputMetrics& output, FinishReason reason);
  /// Records a request whose n outputs have all ended.
  void record_request(std::int32_t n, std::int64_t longest_output_tokens);

  [[nodiscard]] EngineTotals totals() const;

  /// Writes everything in Prometheus' text form (version 0.0.4).
  [[nodiscard]] std::string expose() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace godwit
