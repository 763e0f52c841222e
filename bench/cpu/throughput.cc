// Measures the engine without the server, for bench/cpu/compare.py:
//   godwit_cpu_throughput MODEL THREADS
// prints one JSON line a measure: prefill of 512 tokens, decode of 128 tokens of one sequence, and
// decode of 128 tokens of 16 sequences at once.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "engine/engine.h"
#include "request/request.h"
#include "runner/load_model.h"
#include "runner/model_runner.h"
#include "text/tokenizer.h"

namespace godwit {
namespace {

constexpr int kPrefillTokens = 512;
constexpr int kDecodeTokens = 128;
constexpr int kPromptTokens = 32;  // before a decode
constexpr int kSequences = 16;
constexpr std::int64_t kContext = 1024;

using TimePoint = std::chrono::steady_clock::time_point;

double seconds_between(TimePoint begin, TimePoint end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// When the tokens of one request came.
struct Arrivals {
  std::vector<TimePoint> tokens;
  bool finished = false;
  Status error;
};

/// What the engine's thread writes and the measuring thread waits for.
struct Board {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Arrivals> requests;

  void add(std::size_t request, const Delta& delta) {
    const TimePoint now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex);
    Arrivals& arrivals = requests[request];
    arrivals.tokens.insert(arrivals.tokens.end(), delta.token_ids.size(), now);
    if (delta.finish_reason.has_value()) {
      arrivals.finished = true;
      arrivals.error = delta.error;
      changed.notify_one();
    }
  }

  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] {
      for (const Arrivals& arrivals : requests) {
        if (!arrivals.finished) {
          return false;
        }
      }
      return true;
    });
  }
};

/// The same tokens as llama_cpp_throughput.py takes.
Request make_request(int sequence, int prompt_tokens, int max_tokens) {
  Request request;
  request.id = "bench-" + std::to_string(sequence);
  for (int i = 0; i < prompt_tokens; ++i) {
    request.prompt.push_back(1000 + (sequence * 131 + i * 7) % 20000);
  }
  request.sampling.temperature = 0.0F;
  request.sampling.max_tokens = max_tokens;
  request.sampling.ignore_eos = true;
  request.detokenize = false;
  return request;
}

/// Runs `sequences` requests at once and returns when their tokens came.
Result<std::vector<Arrivals>> run(Engine& engine, int sequences, int prompt_tokens,
                                  int max_tokens) {
  const auto board = std::make_shared<Board>();
  board->requests.resize(static_cast<std::size_t>(sequences));
  for (int i = 0; i < sequences; ++i) {
    TRY(engine.submit(make_request(i, prompt_tokens, max_tokens), [board, i](const Delta& delta) {
      board->add(static_cast<std::size_t>(i), delta);
    }));
  }
  board->wait();
  for (const Arrivals& arrivals : board->requests) {
    TRY(arrivals.error);
  }
  return std::move(board->requests);
}

/// Tokens a second from the moment when every sequence has its first token.
double decode_speed(const std::vector<Arrivals>& requests) {
  TimePoint begin = requests.front().tokens.front();
  TimePoint end = begin;
  for (const Arrivals& arrivals : requests) {
    begin = std::max(begin, arrivals.tokens.front());
    end = std::max(end, arrivals.tokens.back());
  }
  int tokens = 0;
  for (const Arrivals& arrivals : requests) {
    for (const TimePoint time : arrivals.tokens) {
      tokens += time > begin ? 1 : 0;
    }
  }
  return tokens / seconds_between(begin, end);
}

void print(const char* measure, double tokens_per_second) {
  std::printf("{\"measure\": \"%s\", \"tokens_per_second\": %.2f}\n", measure, tokens_per_second);
  std::fflush(stdout);
}

Status measure(const std::string& path, int threads) {
  RunnerOptions runner_options;
  runner_options.device_options.threads = threads;
  runner_options.memory.max_model_len = kContext;
  runner_options.memory.max_num_seqs = kSequences;
  EngineOptions options;
  options.enable_prefix_caching = false;

  ModelFiles files = TRY(open_model(path));
  std::unique_ptr<ModelRunner> runner = TRY(ModelRunner::create(std::move(files), runner_options));
  const SystemClock clock;
  const std::unique_ptr<Engine> engine =
      TRY(Engine::create(options, std::move(runner), nullptr, clock));

  TRY(run(*engine, kSequences, kPromptTokens, 4));  // touches the weights

  const TimePoint begin = std::chrono::steady_clock::now();
  const std::vector<Arrivals> prefill = TRY(run(*engine, 1, kPrefillTokens, 1));
  print("prefill_512", kPrefillTokens / seconds_between(begin, prefill.front().tokens.front()));
  const std::vector<Arrivals> one = TRY(run(*engine, 1, kPromptTokens, kDecodeTokens));
  print("decode_128", decode_speed(one));
  const std::vector<Arrivals> many = TRY(run(*engine, kSequences, kPromptTokens, kDecodeTokens));
  print("decode_128_x16", decode_speed(many));
  return {};
}

}  // namespace
}  // namespace godwit

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: godwit_cpu_throughput MODEL THREADS\n");
    return 2;
  }
  const godwit::Status status = godwit::measure(argv[1], std::atoi(argv[2]));
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  return 0;
}
