#pragma once
// What a load's outcomes amount to, in the words and keys of `vllm bench serve`.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "bench/load.h"

namespace godwit {

/// A service level: a request counts towards goodput when its metric is within the limit.
struct Goal {
  std::string metric;  ///< "ttft", "tpot" or "e2el"
  double milliseconds = 0.0;
};

struct ReportOptions {
  double request_rate = std::numeric_limits<double>::infinity();
  double burstiness = 1.0;
  std::int64_t max_concurrency = 0;
  std::vector<std::string> metrics{"ttft", "tpot", "itl", "e2el"};  ///< Printed, in this order.
  std::vector<double> percentiles{99.0};
  std::vector<Goal> goals;
  bool detailed = false;  ///< Whether the JSON holds every request's numbers and text.
};

/// Mean, median, deviation and percentiles of one metric, in milliseconds.
struct MetricSummary {
  std::string key;  ///< "ttft"
  double mean = 0.0;
  double median = 0.0;
  double deviation = 0.0;
  std::vector<std::pair<double, double>> percentiles;  ///< {percent, milliseconds}
};

struct ServeSummary {
  std::int64_t completed = 0;
  std::int64_t failed = 0;
  std::int64_t input_tokens = 0;  ///< Of completed requests, like all that follows.
  std::int64_t output_tokens = 0;
  double duration = 0.0;  ///< Seconds.
  double request_throughput = 0.0;
  std::optional<double> request_goodput;
  double output_throughput = 0.0;
  double total_token_throughput = 0.0;
  double peak_output_throughput = 0.0;  ///< Most pieces of text in one second of the load.
  std::int64_t peak_concurrency = 0;    ///< Most requests on their way at once.
  std::vector<MetricSummary> metrics;
};

/// Reads "ttft:200". Errors: kInvalidArgument naming --goodput.
Result<Goal> parse_goal(const std::string& text);

/// Errors: kInvalidArgument for a metric that is not known.
Result<ServeSummary> summarize(const LoadResult& load, const ReportOptions& options);

/// The table for the terminal.
std::string serve_text(const ServeSummary& summary, const ReportOptions& options);

/// The result file's members that come from the measurement.
JsonObject serve_json(const ServeSummary& summary, const LoadResult& load,
                      const ReportOptions& options);

}  // namespace godwit
