#include "engine/metrics.h"

#include <algorithm>
#include <array>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace godwit {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;
using Buckets = Histogram::BucketBoundaries;

const Buckets& first_token_buckets() {
  static const Buckets kBuckets = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                   0.25,  0.5,   0.75, 1.0,  2.5,  5.0,  7.5,  10.0,
                                   20.0,  40.0,  80.0, 160., 640., 2560.};
  return kBuckets;
}

const Buckets& token_interval_buckets() {
  static const Buckets kBuckets = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
                                   0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
  return kBuckets;
}

const Buckets& request_time_buckets() {
  static const Buckets kBuckets = {0.3,  0.5,   0.8,   1.0,   1.5,   2.0,    2.5,
                                   5.0,  10.0,  15.0,  20.0,  30.0,  40.0,   50.0,
                                   60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
  return kBuckets;
}

const Buckets& step_token_buckets() {
  static const Buckets kBuckets = {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
  return kBuckets;
}

/// 1, 2, 5, 10, 20, 50, ... up to the largest that does not exceed `limit`.
Buckets one_two_five(std::int64_t limit) {
  Buckets buckets;
  for (std::int64_t decade = 1; decade <= limit && decade <= std::int64_t{1'000'000'000'000};
       decade *= 10) {
    for (const std::int64_t factor : {1, 2, 5}) {
      if (factor * decade <= limit) {
        buckets.push_back(static_cast<double>(factor * decade));
      }
    }
  }
  return buckets;
}

double seconds(Clock::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Makes the metrics of one registry, all under the same labels.
class Builder {
 public:
  Builder(prometheus::Registry& registry, Labels labels)
      : registry_(registry), labels_(std::move(labels)) {}

  Gauge& gauge(const char* name, const char* help, const Labels& more = {}) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry_).Add(with(more));
  }
  Counter& counter(const char* name, const char* help, const Labels& more = {}) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry_).Add(with(more));
  }
  Histogram& histogram(const char* name, const char* help, const Buckets& buckets) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add(labels_,
                                                                                      buckets);
  }

 private:
  Labels with(const Labels& more) const {
    Labels all = labels_;
    all.insert(more.begin(), more.end());
    return all;
  }

  prometheus::Registry& registry_;
  Labels labels_;
};

Labels cache_labels(const MetricsOptions& options) {
  return {options.cache_config.begin(), options.cache_config.end()};
}

}  // namespace

struct Metrics::Impl {
  explicit Impl(const MetricsOptions& options)
      : make(registry, {{"model_name", options.model_name}, {"engine", "0"}}),
        length_buckets(one_two_five(options.max_model_len)) {
    make.gauge("vllm:cache_config_info", "How the cache is set up; always 1.",
               cache_labels(options))
        .Set(1);
    for (const FinishReason reason :
         {FinishReason::kStop, FinishReason::kLength, FinishReason::kAbort, FinishReason::kError,
          FinishReason::kRepetition}) {
      success[static_cast<std::size_t>(reason)] =
          &make.counter("vllm:request_success_total", "Outputs that ended, by reason.",
                        {{"finished_reason", std::string(to_string(reason))}});
    }
  }

  prometheus::Registry registry;
  Builder make;
  Buckets length_buckets;

  Gauge& running = make.gauge("vllm:num_requests_running", "Sequences that take part in steps.");
  Gauge& waiting = make.gauge("vllm:num_requests_waiting", "Sequences that wait for room.");
  Gauge& waiting_for(const char* reason) {
    return make.gauge("vllm:num_requests_waiting_by_reason",
                      "Sequences that wait, by reason: for room, or for a prompt that another one "
                      "of their request computes.",
                      {{"reason", reason}});
  }
  Gauge& waiting_capacity = waiting_for("capacity");
  Gauge& waiting_deferred = waiting_for("deferred");
  Gauge& cache_usage =
      make.gauge("vllm:kv_cache_usage_perc", "Part of the cache in use; 1 is all of it.");

  Counter& prompt_tokens = make.counter("vllm:prompt_tokens_total", "Tokens of prefilled prompts.");
  Counter& prompt_tokens_cached =
      make.counter("vllm:prompt_tokens_cached_total", "Prompt tokens taken from the prefix cache.");
  Counter& prompt_tokens_computed =
      make.counter("vllm:prompt_tokens_by_source_total", "Tokens of prefilled prompts, by source.",
                   {{"source", "local_compute"}});
  Counter& prompt_tokens_hit =
      make.counter("vllm:prompt_tokens_by_source_total", "Tokens of prefilled prompts, by source.",
                   {{"source", "local_cache_hit"}});
  Counter& generation_tokens = make.counter("vllm:generation_tokens_total", "Tokens drawn.");
  Counter& preemptions =
      make.counter("vllm:num_preemptions_total", "Sequences that lost their cache to others.");
  Counter& prefix_queries = make.counter("vllm:prefix_cache_queries_total",
                                         "Prompt tokens looked up in the prefix cache.");
  Counter& prefix_hits =
      make.counter("vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.");
  std::array<Counter*, 5> success{};

  Histogram& step_tokens = make.histogram("vllm:iteration_tokens_total",
                                          "Tokens computed in one step.", step_token_buckets());
  Histogram& first_token =
      make.histogram("vllm:time_to_first_token_seconds",
                     "From a request's arrival to its first token.", first_token_buckets());
  Histogram& inter_token =
      make.histogram("vllm:inter_token_latency_seconds", "Between two tokens of one output.",
                     token_interval_buckets());
  Histogram& time_per_token =
      make.histogram("vllm:request_time_per_output_token_seconds",
                     "An output's mean time between two tokens.", token_interval_buckets());
  Histogram& whole = make.histogram("vllm:e2e_request_latency_seconds",
                                    "From a request's arrival to its end.", request_time_buckets());
  Histogram& queue = make.histogram("vllm:request_queue_time_seconds",
                                    "From arrival to the first step.", request_time_buckets());
  Histogram& inference =
      make.histogram("vllm:request_inference_time_seconds",
                     "From the first step to the last token.", request_time_buckets());
  Histogram& prefill =
      make.histogram("vllm:request_prefill_time_seconds", "From the first step to the first token.",
                     request_time_buckets());
  Histogram& decode = make.histogram("vllm:request_decode_time_seconds",
                                     "From the first token to the last.", request_time_buckets());
  Histogram& output_prompt_tokens =
      make.histogram("vllm:request_prompt_tokens", "Tokens of a prompt.", length_buckets);
  Histogram& output_generation_tokens =
      make.histogram("vllm:request_generation_tokens", "Tokens of an output.", length_buckets);
  Histogram& longest_output =
      make.histogram("vllm:request_max_num_generation_tokens",
                     "Tokens of the longest of a request's outputs.", length_buckets);
  Histogram& computed_prompt_tokens =
      make.histogram("vllm:request_prefill_kv_computed_tokens",
                     "Tokens of a prompt that did not come from the prefix cache.", length_buckets);
  Histogram& params_n =
      make.histogram("vllm:request_params_n", "The field n of requests.", {1, 2, 5, 10, 20});
  Histogram& params_max_tokens = make.histogram(
      "vllm:request_params_max_tokens", "The field max_tokens of requests.", length_buckets);
  Histogram& output_preemptions =
      make.histogram("vllm:request_num_preemptions", "How often an output was preempted.",
                     {0, 1, 2, 5, 10, 20, 50, 100});
};

Metrics::Metrics(const MetricsOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Metrics::~Metrics() = default;

void Metrics::set_load(const LoadMetrics& load) {
  impl_->running.Set(static_cast<double>(load.running));
  impl_->waiting.Set(static_cast<double>(load.waiting));
  impl_->waiting_capacity.Set(static_cast<double>(load.waiting - load.deferred));
  impl_->waiting_deferred.Set(static_cast<double>(load.deferred));
  impl_->cache_usage.Set(load.kv_cache_usage);
}

void Metrics::add_step(const StepMetrics& step) {
  const auto add = [](Counter& counter, std::int64_t count) {
    counter.Increment(static_cast<double>(count));
  };
  add(impl_->prompt_tokens, step.prompt_tokens);
  add(impl_->prompt_tokens_cached, step.cached_prompt_tokens);
  add(impl_->prompt_tokens_hit, step.cached_prompt_tokens);
  add(impl_->prompt_tokens_computed, step.prompt_tokens - step.cached_prompt_tokens);
  add(impl_->generation_tokens, step.generation_tokens);
  add(impl_->preemptions, step.preemptions);
  add(impl_->prefix_queries, step.prefix_queries);
  add(impl_->prefix_hits, step.prefix_hits);
  if (step.batch_tokens > 0) {
    impl_->step_tokens.Observe(static_cast<double>(step.batch_tokens));
  }
}

void Metrics::record_first_token(Clock::Duration since_arrival) {
  impl_->first_token.Observe(seconds(since_arrival));
}

void Metrics::record_inter_token(Clock::Duration since_last_token) {
  impl_->inter_token.Observe(seconds(since_last_token));
}

void Metrics::record_finished(const OutputMetrics& output, FinishReason reason) {
  constexpr Clock::Duration kNever{};
  impl_->success[static_cast<std::size_t>(reason)]->Increment();
  impl_->whole.Observe(seconds(output.finished - output.arrived));
  if (output.scheduled != kNever) {
    impl_->queue.Observe(seconds(output.scheduled - output.arrived));
  }
  if (output.first_token != kNever) {
    const double decode = seconds(output.last_token - output.first_token);
    impl_->prefill.Observe(seconds(output.first_token - output.scheduled));
    impl_->inference.Observe(seconds(output.last_token - output.scheduled));
    impl_->decode.Observe(decode);
    if (output.generation_tokens > 1) {
      impl_->time_per_token.Observe(decode / static_cast<double>(output.generation_tokens - 1));
    }
  }
  impl_->output_prompt_tokens.Observe(static_cast<double>(output.prompt_tokens));
  impl_->computed_prompt_tokens.Observe(
      static_cast<double>(output.prompt_tokens - output.cached_tokens));
  impl_->output_generation_tokens.Observe(static_cast<double>(output.generation_tokens));
  impl_->output_preemptions.Observe(static_cast<double>(output.preemptions));
  impl_->params_max_tokens.Observe(static_cast<double>(output.max_tokens));
}

void Metrics::record_request(std::int32_t n, std::int64_t longest_output_tokens) {
  impl_->params_n.Observe(n);
  impl_->longest_output.Observe(static_cast<double>(longest_output_tokens));
}

EngineTotals Metrics::totals() const {
  const auto count = [](const auto& metric) { return static_cast<std::int64_t>(metric.Value()); };
  return {.prompt_tokens = count(impl_->prompt_tokens_computed),
          .generation_tokens = count(impl_->generation_tokens),
          .prefix_queries = count(impl_->prefix_queries),
          .prefix_hits = count(impl_->prefix_hits),
          .running = count(impl_->running),
          .waiting = count(impl_->waiting),
          .kv_cache_usage = impl_->cache_usage.Value()};
}

std::string Metrics::expose() const {
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace godwit
