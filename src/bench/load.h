#pragma once
// Sends requests to an OpenAI-compatible server at given times, reads the streamed answers and
// writes down when their tokens came.

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bench/http_loop.h"

namespace godwit {

/// One request to be sent.
struct LoadRequest {
  std::string body;                ///< JSON of a streaming completion or chat completion.
  std::int64_t prompt_tokens = 0;  ///< As asked for; the server's own count replaces it.
};

struct LoadOptions {
  std::string path = "/v1/completions";
  std::vector<std::pair<std::string, std::string>> headers;
  /// Requests a second; infinity sends all at once.
  double request_rate = std::numeric_limits<double>::infinity();
  /// Shape of the gamma distribution of the times between two requests: 1 is a Poisson process,
  /// less comes in bursts, more is steadier.
  double burstiness = 1.0;
  std::int64_t max_concurrency = 0;  ///< Most requests at once; 0 = no limit.
  std::uint64_t seed = 0;
  std::chrono::seconds timeout{600};
};

/// What became of one request. Times are in seconds.
struct Outcome {
  Status error;        ///< Ok when the whole answer came.
  double start = 0.0;  ///< Since the load began; a wait for a free place counts before it.
  double time_to_first_token = 0.0;
  std::vector<double> inter_token_latencies;
  double latency = 0.0;  ///< From start to the last token.
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;  ///< As the server counts; pieces of the stream if it does not.
  std::string text;
};

struct LoadResult {
  std::vector<Outcome> outcomes;  ///< In the order of the requests.
  double duration = 0.0;          ///< Seconds from the first request to the last answer's end.
};

/// Seconds from the beginning at which each of `count` requests is due.
std::vector<double> arrival_times(std::size_t count, const LoadOptions& options);

/// Sends all requests and waits for their answers. `progress` is called when one has ended.
LoadResult run_load(const HttpTarget& target, std::vector<LoadRequest> requests,
                    const LoadOptions& options, const std::function<void()>& progress);

}  // namespace godwit
