#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "engine/active_request.h"
#include "engine/check_request.h"
#include "engine/metrics.h"
#include "runner/model_runner.h"
#include "sched/scheduler.h"
#include "text/tokenizer.h"

namespace godwit {
namespace {

/// Spreads consecutive numbers over all 64 bits. Source: Steele, Lea and Flood 2014, "Fast
/// splittable pseudorandom number generators" (SplitMix64).
std::uint64_t spread(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

}  // namespace

/// Callers put requests and aborts into the inbox; everything else belongs to the loop's thread.
struct Engine::Impl {
  Impl(const EngineOptions& engine_options, std::unique_ptr<ModelRunner> model_runner,
       std::shared_ptr<const Tokenizer> text, const Clock& time, Scheduler sequence_scheduler,
       const MetricsOptions& metrics_options)
      : options(engine_options),
        clock(time),
        tokenizer(std::move(text)),
        runner(std::move(model_runner)),
        scheduler(std::move(sequence_scheduler)),
        metrics(metrics_options) {
    limits = {.max_model_len = runner->plan().max_model_len,
              .vocab_size = runner->geometry().vocab_size,
              .max_logprobs = options.max_logprobs};
  }

  void run();
  void loop();
  bool take_inbox();
  void start(std::unique_ptr<ActiveRequest> request);
  void step();
  void emit(const SequenceUpdate& update, const DrawnToken* drawn);
  void keep_prompt_logprobs(const std::vector<PromptLogprobs>& chunks);
  void close(SequenceId id, FinishReason reason, const Status& error);
  void close_all(RequestKey key, FinishReason reason, const Status& error);
  void close_everything(FinishReason reason, const Status& error);
  void finish_output(ActiveRequest& request, ActiveOutput& output, FinishReason reason);
  std::int64_t note_starts(const ScheduledBatch& batch);
  void count_work(const ScheduledBatch& batch);
  void update_metrics(const ScheduledBatch& batch, std::int64_t prompt_tokens, std::int64_t drawn);
  void report_load(const SchedulerStats& stats);
  ActiveOutput* find_output(SequenceId id, ActiveRequest** request);

  const EngineOptions options;
  const Clock& clock;
  const std::shared_ptr<const Tokenizer> tokenizer;
  EngineLimits limits;

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::unique_ptr<ActiveRequest>> inbox;  // Guarded by mutex, as the next three.
  std::vector<RequestKey> aborts;
  bool draining = false;
  bool stopping = false;
  std::atomic<std::int64_t> num_outputs{0};  // Of all requests that have not ended.
  std::atomic<bool> alive{true};
  std::int64_t next_key = 0;  // Guarded by mutex.

  std::unique_ptr<ModelRunner> runner;
  Scheduler scheduler;
  Metrics metrics;
  struct Place {
    ActiveRequest* request = nullptr;
    std::size_t index = 0;
  };
  std::unordered_map<RequestKey, std::unique_ptr<ActiveRequest>> requests;
  std::unordered_map<SequenceId, Place> places;
  std::int64_t next_sequence = 0;
  SchedulerStats last_stats;
  EngineCounters counters;  // Guarded by mutex.
  std::thread thread;
};

/// The thread's entry: nothing thrown below leaves it.
void Engine::Impl::run() {
  Status fault = unavailable("the server is shutting down");
  FinishReason reason = FinishReason::kAbort;
  try {
    loop();
  } catch (const std::exception& error) {
    fault =
        internal_error(std::string("the engine stopped: ") + error.what(), "restart the server");
    reason = FinishReason::kError;
    alive.store(false);
    log::error("{}", fault.message());
  }
  close_everything(reason, fault);
}

/// Refuses what comes from now on and ends what came before: what runs, and what arrived while the
/// last step ran.
void Engine::Impl::close_everything(FinishReason reason, const Status& error) {
  std::vector<std::unique_ptr<ActiveRequest>> arrived;
  {
    const std::lock_guard lock(mutex);
    draining = true;
    arrived.swap(inbox);
  }
  for (std::unique_ptr<ActiveRequest>& request : arrived) {
    start(std::move(request));
  }
  while (!requests.empty()) {
    close_all(requests.begin()->first, reason, error);
  }
}

void Engine::Impl::loop() {
  while (take_inbox()) {
    if (scheduler.has_sequences()) {
      step();
    }
  }
}

/// Waits for something to do and takes in what callers asked for. Returns false at the end.
bool Engine::Impl::take_inbox() {
  std::vector<std::unique_ptr<ActiveRequest>> arrived;
  std::vector<RequestKey> leaving;
  bool go_on = true;
  {
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] {
      return stopping || !inbox.empty() || !aborts.empty() || scheduler.has_sequences();
    });
    arrived.swap(inbox);
    leaving.swap(aborts);
    go_on = !stopping;
  }
  for (std::unique_ptr<ActiveRequest>& request : arrived) {
    start(std::move(request));
  }
  for (const RequestKey key : leaving) {
    close_all(key, FinishReason::kAbort, {});
  }
  return go_on;
}

void Engine::Impl::start(std::unique_ptr<ActiveRequest> owned) {
  ActiveRequest& request = *owned;
  const Tokenizer* text = request.request.detokenize ? tokenizer.get() : nullptr;
  const auto seed = static_cast<std::int64_t>(
      spread(options.seed ^ spread(static_cast<std::uint64_t>(request.key))));
  std::vector<SequenceSpec> specs;
  request.outputs.reserve(static_cast<std::size_t>(request.request.n));
  for (std::int32_t index = 0; index < request.request.n; ++index) {
    const SequenceId id{next_sequence++};
    ActiveOutput& output = request.outputs.emplace_back(id, text, request.request);
    output.times.arrived = request.arrived;
    output.times.prompt_tokens = static_cast<std::int64_t>(request.request.prompt.size());
    output.times.max_tokens = request.request.sampling.max_tokens;
    places[id] = {.request = &request, .index = static_cast<std::size_t>(index)};
    specs.push_back(make_sequence_spec(request.request, id, index, seed));
  }
  requests.emplace(request.key, std::move(owned));
  for (SequenceSpec& spec : specs) {
    const SequenceId id = spec.id;
    if (const Status status = scheduler.add(std::move(spec)); !status.ok()) {
      close(id, FinishReason::kError, status);
    }
  }
}

void Engine::Impl::step() {
  const ScheduledBatch batch = scheduler.schedule();
  const std::int64_t prompt_tokens = note_starts(batch);
  count_work(batch);
  Result<StepOutput> result = runner->execute(batch);
  if (!result.ok()) {
    log::error("step {} failed: {}", batch.step, result.status().message());
    for (const ScheduledSequence& scheduled : batch.sequences) {
      close(scheduled.id, FinishReason::kError, result.status());
    }
  }
  const StepOutput output = result.ok() ? std::move(result).value() : StepOutput();
  keep_prompt_logprobs(output.prompt_logprobs);

  // The scheduler hears of every token that was due; those of sequences that just ended count as
  // stale.
  std::vector<SampledToken> sampled;
  std::unordered_map<SequenceId, const DrawnToken*> drawn;
  for (const ScheduledSequence& scheduled : batch.sequences) {
    if (!scheduled.samples) {
      continue;
    }
    const std::size_t row = sampled.size();
    const DrawnToken* token = row < output.drawn.size() ? &output.drawn[row] : nullptr;
    sampled.push_back({.id = scheduled.id, .token = token != nullptr ? token->token : -1});
    drawn[scheduled.id] = token;
    if (sampled.back().token < 0) {
      close(scheduled.id, FinishReason::kError,
            internal_error("the model gave no finite logits for this request"));
    }
  }
  for (const SequenceUpdate& update : scheduler.settle(batch, sampled)) {
    const auto token = drawn.find(update.id);
    emit(update, token == drawn.end() ? nullptr : token->second);
  }
  update_metrics(batch, prompt_tokens, static_cast<std::int64_t>(output.drawn.size()));
}

/// Sends one sequence's news to its client.
void Engine::Impl::emit(const SequenceUpdate& update, const DrawnToken* drawn) {
  ActiveRequest* request = nullptr;
  ActiveOutput* output = find_output(update.id, &request);
  if (output == nullptr) {
    return;
  }
  Delta delta;
  delta.index = static_cast<std::int32_t>(places[update.id].index);
  delta.finish_reason = update.finish_reason;
  delta.stop_token = update.stop_token;
  delta.cached_tokens = update.cached_tokens;
  output->times.cached_tokens = update.cached_tokens;
  const bool ended_by_scheduler = update.finish_reason.has_value();
  if (delta.index == 0 && output->times.generation_tokens == 0) {
    delta.prompt_logprobs = std::move(request->prompt_logprobs);
  }
  if (update.token) {
    const Clock::Duration now = clock.now();
    if (output->times.generation_tokens++ == 0) {
      output->times.first_token = now;
      metrics.record_first_token(now - output->times.arrived);
    } else {
      metrics.record_inter_token(now - output->times.last_token);
    }
    output->times.last_token = now;
    if (drawn != nullptr && drawn->logprob) {
      delta.logprobs.push_back(*drawn->logprob);
    }
    output->stream.emit(*update.token, delta);
  }
  if (delta.finish_reason && !ended_by_scheduler) {
    scheduler.finish(update.id);
  }
  const std::optional<FinishReason> reason = delta.finish_reason;
  request->sink(std::move(delta));
  if (reason) {
    finish_output(*request, *output, *reason);
  }
}

void Engine::Impl::keep_prompt_logprobs(const std::vector<PromptLogprobs>& chunks) {
  for (const PromptLogprobs& chunk : chunks) {
    ActiveRequest* request = nullptr;
    if (find_output(chunk.id, &request) == nullptr) {
      continue;
    }
    std::vector<TokenLogprob>& all = request->prompt_logprobs;
    all.resize(request->request.prompt.size() - 1);
    std::copy(chunk.logprobs.begin(), chunk.logprobs.end(), all.begin() + chunk.first - 1);
  }
}

/// Ends one output from outside the scheduler; a request's others go on.
void Engine::Impl::close(SequenceId id, FinishReason reason, const Status& error) {
  ActiveRequest* request = nullptr;
  ActiveOutput* output = find_output(id, &request);
  if (output == nullptr) {
    return;
  }
  scheduler.finish(id);
  // No step may follow that would tell: the load must not show a client that has left.
  report_load(scheduler.stats());
  Delta delta;
  delta.index = static_cast<std::int32_t>(places[id].index);
  output->stream.flush(delta);
  delta.finish_reason = reason;
  delta.error = reason == FinishReason::kError ? error : Status();
  request->sink(std::move(delta));
  finish_output(*request, *output, reason);
}

/// Ends all outputs of a request that still run.
void Engine::Impl::close_all(RequestKey key, FinishReason reason, const Status& error) {
  const auto entry = requests.find(key);
  if (entry == requests.end()) {
    return;
  }
  std::vector<SequenceId> ids;
  for (const ActiveOutput& output : entry->second->outputs) {
    ids.push_back(output.id);
  }
  for (const SequenceId id : ids) {
    close(id, reason, error);
  }
}

/// Books an output that ended. The request is destroyed with its last output.
void Engine::Impl::finish_output(ActiveRequest& request, ActiveOutput& output,
                                 FinishReason reason) {
  output.finished = true;
  output.times.finished = clock.now();
  metrics.record_finished(output.times, reason);
  places.erase(output.id);
  if (request.finished()) {
    metrics.record_request(request.request.n, request.longest_output());
    const RequestKey key = request.key;
    requests.erase(key);
  }
  num_outputs.fetch_sub(1);
}

/// Times the first start of each output and counts the later ones. Returns how many prompt tokens
/// start for the first time.
std::int64_t Engine::Impl::note_starts(const ScheduledBatch& batch) {
  std::int64_t prompt_tokens = 0;
  for (const StartedSequence& started : batch.started) {
    ActiveRequest* request = nullptr;
    ActiveOutput* output = find_output(started.id, &request);
    if (output == nullptr) {
      continue;
    }
    if (output->started) {  // It was preempted in between.
      ++output->times.preemptions;
      continue;
    }
    output->started = true;
    output->times.scheduled = clock.now();
    prompt_tokens += started.prompt_len;
  }
  return prompt_tokens;
}

void Engine::Impl::update_metrics(const ScheduledBatch& batch, std::int64_t prompt_tokens,
                                  std::int64_t drawn) {
  const SchedulerStats stats = scheduler.stats();
  StepMetrics step_metrics;
  step_metrics.prompt_tokens = prompt_tokens;
  step_metrics.generation_tokens = drawn;
  step_metrics.batch_tokens = batch.total_tokens;
  step_metrics.preemptions = stats.preemptions - last_stats.preemptions;
  step_metrics.prefix_queries = stats.prefix_queries - last_stats.prefix_queries;
  step_metrics.prefix_hits = stats.prefix_hits - last_stats.prefix_hits;
  step_metrics.cached_prompt_tokens = step_metrics.prefix_hits;
  metrics.add_step(step_metrics);
  report_load(stats);
  last_stats = stats;
  const std::lock_guard lock(mutex);
  counters.preemptions = stats.preemptions;
  counters.prefix_hit_tokens = stats.prefix_hits;
}

void Engine::Impl::report_load(const SchedulerStats& stats) {
  metrics.set_load({.running = stats.running,
                    .waiting = stats.waiting,
                    .deferred = stats.deferred,
                    .kv_cache_usage = stats.cache.usage()});
}

/// Counts what a step is about to do; afterwards some of its sequences are gone.
void Engine::Impl::count_work(const ScheduledBatch& batch) {
  bool decodes = false;
  bool prefills = false;
  std::int64_t partial = 0;
  for (const ScheduledSequence& scheduled : batch.sequences) {
    ActiveRequest* request = nullptr;
    CHECK(find_output(scheduled.id, &request) != nullptr);
    const auto prompt_len = static_cast<std::int64_t>(request->request.prompt.size());
    (scheduled.start >= prompt_len ? decodes : prefills) = true;
    partial += scheduled.start + scheduled.count < prompt_len ? 1 : 0;
  }
  const std::lock_guard lock(mutex);
  counters.steps += 1;
  counters.shared_steps += batch.sequences.size() > 1 ? 1 : 0;
  counters.mixed_steps += decodes && prefills ? 1 : 0;
  counters.partial_prefills += partial;
}

ActiveOutput* Engine::Impl::find_output(SequenceId id, ActiveRequest** request) {
  const auto place = places.find(id);
  if (place == places.end()) {
    return nullptr;
  }
  *request = place->second.request;
  return &place->second.request->outputs[place->second.index];
}

Result<std::unique_ptr<Engine>> Engine::create(const EngineOptions& options,
                                               std::unique_ptr<ModelRunner> runner,
                                               std::shared_ptr<const Tokenizer> tokenizer,
                                               const Clock& clock) {
  const MemoryPlan& plan = runner->plan();
  SchedulerOptions scheduling;
  scheduling.max_num_seqs = runner->options().memory.max_num_seqs;
  scheduling.max_num_batched_tokens = options.max_num_batched_tokens;
  scheduling.max_model_len = plan.max_model_len;
  scheduling.cache = plan.layout;
  scheduling.policy =
      options.schedule_by_priority ? SchedulingPolicy::kPriority : SchedulingPolicy::kFcfs;
  scheduling.enable_prefix_caching = options.enable_prefix_caching;
  scheduling.enable_chunked_prefill = options.enable_chunked_prefill;
  scheduling.long_prefill_token_threshold = options.long_prefill_token_threshold;
  scheduling.eos_ids = runner->options().eos_ids;
  scheduling.cache_fingerprint = runner->fingerprint();
  Scheduler scheduler = TRY(Scheduler::create(scheduling));

  MetricsOptions metrics;
  metrics.model_name = options.model_name;
  metrics.max_model_len = plan.max_model_len;
  metrics.cache_config = {
      {"block_size", std::to_string(plan.layout.block_size)},
      {"num_gpu_blocks", std::to_string(plan.kv_tokens() / plan.layout.block_size)},
      {"cache_dtype", std::string(to_string(runner->options().memory.kv_dtype))},
      {"enable_prefix_caching", options.enable_prefix_caching ? "True" : "False"}};
  auto impl = std::make_unique<Impl>(options, std::move(runner), std::move(tokenizer), clock,
                                     std::move(scheduler), metrics);
  Impl* loop = impl.get();
  impl->thread = std::thread([loop] { loop->run(); });
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->draining = true;
  }
  impl_->wake.notify_one();
  impl_->thread.join();
}

Result<RequestKey> Engine::submit(Request request, DeltaSink sink) {
  TRY(check_request(request, impl_->limits));
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->alive.load()) {
    return unavailable("the engine has stopped after a fault", "restart the server");
  }
  if (impl_->draining) {
    return unavailable("the server is shutting down", "send the request to another one");
  }
  if (impl_->num_outputs.load() >= impl_->options.max_queued_requests) {
    return resource_exhausted("the queue of requests is full", "try again later");
  }
  const RequestKey key{impl_->next_key++};
  impl_->num_outputs.fetch_add(request.n);
  impl_->inbox.push_back(std::make_unique<ActiveRequest>(key, std::move(request), std::move(sink),
                                                         impl_->clock.now()));
  impl_->wake.notify_one();
  return key;
}

void Engine::abort(RequestKey key) {
  const std::lock_guard lock(impl_->mutex);
  impl_->aborts.push_back(key);
  impl_->wake.notify_one();
}

void Engine::drain() {
  const std::lock_guard lock(impl_->mutex);
  impl_->draining = true;
}

bool Engine::idle() const {
  return impl_->num_outputs.load() == 0;
}

bool Engine::alive() const {
  return impl_->alive.load();
}

const EngineLimits& Engine::limits() const {
  return impl_->limits;
}

EngineCounters Engine::counters() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->counters;
}

Metrics& Engine::metrics() {
  return impl_->metrics;
}

}  // namespace godwit
