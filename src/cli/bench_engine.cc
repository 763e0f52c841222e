#include "cli/bench_engine.h"

#include <array>
#include <condition_variable>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <mutex>
#include <numeric>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/json.h"
#include "bench/result_file.h"
#include "bench/statistics.h"
#include "cli/loaded_engine.h"
#include "cli/model_source.h"

namespace godwit {
namespace {

constexpr std::array<double, 6> kPercents{10, 25, 50, 75, 90, 99};

double seconds(Clock::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Where the engine's thread counts what the measuring thread waits for.
class Tally {
 public:
  void add(const Delta& delta) {
    const std::lock_guard lock(mutex_);
    tokens_ += static_cast<std::int64_t>(delta.token_ids.size());
    if (delta.finish_reason) {
      ++finished_;
      if (!delta.error.ok()) {
        error_ = delta.error;
      }
      changed_.notify_one();
    }
  }
  /// Waits for `requests` ends. Returns the tokens that came.
  Result<std::int64_t> wait(std::size_t requests) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return finished_ == requests; });
    TRY(error_);
    return tokens_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t finished_ = 0;
  std::int64_t tokens_ = 0;
  Status error_;
};

/// Runs all prompts at once. Returns how many tokens the answers have.
Result<std::int64_t> run_batch(Engine& engine, const std::vector<RandomPrompt>& prompts,
                               bool detokenize) {
  const auto tally = std::make_shared<Tally>();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    Request request;
    request.id = "bench-" + std::to_string(i);
    request.prompt = prompts[i].tokens;
    request.sampling.max_tokens = prompts[i].output_len;
    request.sampling.ignore_eos = true;
    request.detokenize = detokenize;
    TRY(engine.submit(std::move(request), [tally](const Delta& delta) { tally->add(delta); }));
  }
  return tally->wait(prompts.size());
}

std::vector<TokenId> vocabulary_of(const Engine& engine) {
  std::vector<TokenId> ids(static_cast<std::size_t>(engine.limits().vocab_size));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::int64_t prompt_tokens(const std::vector<RandomPrompt>& prompts) {
  return std::accumulate(prompts.begin(), prompts.end(), std::int64_t{0},
                         [](std::int64_t sum, const RandomPrompt& prompt) {
                           return sum + static_cast<std::int64_t>(prompt.tokens.size());
                         });
}

Json percentiles_json(const std::vector<double>& values) {
  Json json{JsonObject()};
  for (const double percent : kPercents) {
    json.set(fmt::format("{:g}", percent), percentile(values, percent));
  }
  return json;
}

Json array_json(const std::vector<double>& values) {
  return JsonArray(values.begin(), values.end());
}

Status check_positive(const char* flag, std::int64_t value) {
  if (value < 1) {
    return invalid_argument(std::string(flag) + " is " + std::to_string(value), "give 1 or more");
  }
  return {};
}

/// Asks the system to forget the contents of a file, so that the next reader waits for the disk.
void drop_from_page_cache(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
  }
}

void drop_model_from_page_cache(const std::string& model) {
  std::error_code error;
  if (!std::filesystem::is_directory(model, error)) {
    drop_from_page_cache(model);
    return;
  }
  for (std::filesystem::directory_iterator file(model, error), end; !error && file != end;
       file.increment(error)) {
    drop_from_page_cache(file->path());
  }
}

/// Seconds of `count` starts.
Result<std::vector<double>> time_starts(const ModelOptions& model, std::int64_t count, bool cold,
                                        const Clock& clock) {
  std::vector<double> times;
  for (std::int64_t i = 0; i < count; ++i) {
    if (cold) {
      drop_model_from_page_cache(model.model);
    }
    const Clock::Duration begin = clock.now();
    const LoadedEngine loaded = TRY(load_engine(model, clock));
    times.push_back(seconds(clock.now() - begin));
  }
  return times;
}

void print_starts(std::FILE* out, const char* title, const std::vector<double>& times) {
  fmt::print(out, "\n{}:\nAvg total startup time: {:.3f} seconds\nStartup time percentiles:\n",
             title, mean(times));
  for (const double percent : kPercents) {
    fmt::print(out, "  {:g}%: {:.3f} seconds\n", percent, percentile(times, percent));
  }
}

}  // namespace

Status bench_throughput(const BenchThroughputCommand& command, std::FILE* out) {
  const SystemClock clock;
  ModelOptions model = TRY(locate_model(command.model));
  model.engine.max_queued_requests =
      std::max(model.engine.max_queued_requests, command.prompts.count);
  const LoadedEngine loaded = TRY(load_engine(model, clock));
  const std::vector<RandomPrompt> prompts =
      TRY(draw_prompts(command.prompts, vocabulary_of(*loaded.engine)));
  const Clock::Duration begin = clock.now();
  const std::int64_t output = TRY(run_batch(*loaded.engine, prompts, command.detokenize));
  const double elapsed = seconds(clock.now() - begin);
  const std::int64_t input = prompt_tokens(prompts);
  const auto rate = [elapsed](std::int64_t count) { return static_cast<double>(count) / elapsed; };
  fmt::print(out,
             "Throughput: {:.2f} requests/s, {:.2f} total tokens/s, {:.2f} output tokens/s\n"
             "Total num prompt tokens:  {}\nTotal num output tokens:  {}\n",
             rate(command.prompts.count), rate(input + output), rate(output), input, output);
  if (command.output_json.empty()) {
    return {};
  }
  return write_result(command.output_json,
                      JsonObject{{"elapsed_time", elapsed},
                                 {"num_requests", command.prompts.count},
                                 {"total_num_tokens", input + output},
                                 {"requests_per_second", rate(command.prompts.count)},
                                 {"tokens_per_second", rate(input + output)}});
}

Status bench_latency(const BenchLatencyCommand& command, std::FILE* out) {
  TRY(check_positive("--batch-size", command.batch_size));
  TRY(check_positive("--num-iters", command.num_iters));
  const SystemClock clock;
  ModelOptions model = TRY(locate_model(command.model));
  // Every round computes the same prompts, and has to compute them.
  model.engine.enable_prefix_caching = false;
  const LoadedEngine loaded = TRY(load_engine(model, clock));
  const std::vector<RandomPrompt> prompts = TRY(draw_prompts({.count = command.batch_size,
                                                              .input_len = command.input_len,
                                                              .output_len = command.output_len,
                                                              .seed = model.engine.seed},
                                                             vocabulary_of(*loaded.engine)));
  std::vector<double> latencies;
  for (std::int64_t round = -command.num_iters_warmup; round < command.num_iters; ++round) {
    const Clock::Duration begin = clock.now();
    TRY(run_batch(*loaded.engine, prompts, true));
    if (round >= 0) {
      latencies.push_back(seconds(clock.now() - begin));
    }
  }
  fmt::print(out, "Avg latency: {} seconds\n", mean(latencies));
  for (const double percent : kPercents) {
    fmt::print(out, "{:g}% percentile latency: {} seconds\n", percent,
               percentile(latencies, percent));
  }
  if (command.output_json.empty()) {
    return {};
  }
  return write_result(command.output_json,
                      JsonObject{{"avg_latency", mean(latencies)},
                                 {"latencies", array_json(latencies)},
                                 {"percentiles", percentiles_json(latencies)}});
}

Status bench_startup(const BenchStartupCommand& command, std::FILE* out) {
  TRY(check_positive("--num-iters-cold", command.num_iters_cold));
  TRY(check_positive("--num-iters-warm", command.num_iters_warm));
  const ModelOptions model = TRY(locate_model(command.model));
  const SystemClock clock;
  const std::vector<double> cold = TRY(time_starts(model, command.num_iters_cold, true, clock));
  TRY(time_starts(model, command.num_iters_warmup, false, clock));
  const std::vector<double> warm = TRY(time_starts(model, command.num_iters_warm, false, clock));
  print_starts(out, "COLD STARTUP", cold);
  print_starts(out, "WARM STARTUP", warm);
  if (command.output_json.empty()) {
    return {};
  }
  return write_result(command.output_json,
                      JsonObject{{"avg_cold_startup_time", mean(cold)},
                                 {"cold_startup_times", array_json(cold)},
                                 {"cold_startup_percentiles", percentiles_json(cold)},
                                 {"avg_warm_startup_time", mean(warm)},
                                 {"warm_startup_times", array_json(warm)},
                                 {"warm_startup_percentiles", percentiles_json(warm)}});
}

}  // namespace godwit
