#pragma once
// The engine: the loop that schedules, runs and emits, and the only place where requests end.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "request/request.h"

namespace godwit {

class Metrics;
class ModelRunner;
class Tokenizer;

/// Identifies a submitted request; never reused.
enum class RequestKey : std::int64_t {};

/// Receives what a request's outputs become, in order, on the engine's thread: it must hand the
/// values on and return at once. The last call for output i has a finish_reason; after the last
/// output's last call it is destroyed.
using DeltaSink = std::function<void(Delta)>;

struct EngineOptions {
  std::string model_name;                         ///< The label of the metrics.
  std::int64_t max_num_batched_tokens = 2048;     ///< Tokens a step may compute.
  std::int64_t long_prefill_token_threshold = 0;  ///< Longest part of one prompt a step; 0 = none.
  /// Requests are refused (HTTP 503) while so many outputs are unfinished: one with n = 100 counts
  /// for 100, since each output holds memory.
  std::int64_t max_queued_requests = 16384;
  bool enable_prefix_caching = true;
  bool enable_chunked_prefill = true;
  bool schedule_by_priority = false;
  std::int32_t max_logprobs = 20;  ///< Largest `logprobs` and `prompt_logprobs`.
  std::uint64_t seed = 0;          ///< Source of seeds for requests that bring none.
};

/// What the engine can do with a request, for checks before it is submitted.
struct EngineLimits {
  std::int64_t max_model_len = 0;  ///< Tokens of prompt and output together.
  std::int64_t vocab_size = 0;
  std::int32_t max_logprobs = 20;
};

/// What the loop has done so far: evidence of which combinations happened.
struct EngineCounters {
  std::int64_t steps = 0;
  std::int64_t shared_steps = 0;      ///< Steps of more than one sequence.
  std::int64_t mixed_steps = 0;       ///< Steps in which one sequence decodes and another prefills.
  std::int64_t partial_prefills = 0;  ///< Parts of prompts that did not reach the prompt's end.
  std::int64_t preemptions = 0;
  std::int64_t prefix_hit_tokens = 0;
};

/// Threading: every method may be called from any thread.
class Engine {
 public:
  /// `tokenizer` may be null: then requests and answers are token ids.
  static Result<std::unique_ptr<Engine>> create(const EngineOptions& options,
                                                std::unique_ptr<ModelRunner> runner,
                                                std::shared_ptr<const Tokenizer> tokenizer,
                                                const Clock& clock);
  /// Aborts what still runs and joins the engine's thread.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Queues a request. Errors: kInvalidArgument when it can never run, naming the field and the
  /// limit; kResourceExhausted when the queue is full; kUnavailable after drain().
  Result<RequestKey> submit(Request request, DeltaSink sink);

  /// Ends a request within one step; its outputs end with FinishReason::kAbort. Unknown keys are
  /// ignored: the request may just have finished.
  void abort(RequestKey key);

  /// Refuses new requests from now on.
  void drain();
  /// Whether no request is queued or running.
  [[nodiscard]] bool idle() const;
  /// Whether the loop runs; false after a fault that it cannot go on from.
  [[nodiscard]] bool alive() const;

  [[nodiscard]] const EngineLimits& limits() const;
  [[nodiscard]] EngineCounters counters() const;
  [[nodiscard]] Metrics& metrics();

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace godwit
