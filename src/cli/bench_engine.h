#pragma once
// `godwit bench throughput`, `latency` and `startup`: the engine in this process, without a server.

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/status.h"
#include "bench/random_prompts.h"
#include "cli/options.h"

namespace godwit {

struct BenchThroughputCommand {
  ModelOptions model;
  RandomPrompts prompts;
  bool detokenize = true;
  std::string output_json;  ///< Empty: no file.
};

struct BenchLatencyCommand {
  ModelOptions model;
  std::int64_t input_len = 32;
  std::int64_t output_len = 128;
  std::int64_t batch_size = 8;
  std::int64_t num_iters_warmup = 10;
  std::int64_t num_iters = 30;
  std::string output_json;
};

struct BenchStartupCommand {
  ModelOptions model;
  std::int64_t num_iters_cold = 5;
  std::int64_t num_iters_warmup = 3;
  std::int64_t num_iters_warm = 5;
  std::string output_json;
};

/// All requests at once: how long until the last has ended.
Status bench_throughput(const BenchThroughputCommand& command, std::FILE* out);
/// One batch again and again: how long each takes.
Status bench_latency(const BenchLatencyCommand& command, std::FILE* out);
/// From a path to an engine that takes requests. Cold: with the model's files dropped from the
/// system's page cache before.
Status bench_startup(const BenchStartupCommand& command, std::FILE* out);

}  // namespace godwit
