#include "bench/serve_report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "bench/statistics.h"

namespace godwit {
namespace {

struct MetricName {
  std::string_view key;
  std::string_view label;
  std::string_view title;
};

constexpr auto kMetrics = std::to_array<MetricName>({
    {"ttft", "TTFT", "Time to First Token"},
    {"tpot", "TPOT", "Time per Output Token (excl. 1st token)"},
    {"itl", "ITL", "Inter-token Latency"},
    {"e2el", "E2EL", "End-to-end Latency"},
});

const MetricName* find_metric(std::string_view key) {
  const auto* found = std::find_if(kMetrics.begin(), kMetrics.end(),
                                   [key](const MetricName& name) { return name.key == key; });
  return found == kMetrics.end() ? nullptr : found;
}

/// A request's time per token after the first; nothing for a single token.
std::optional<double> time_per_output_token(const Outcome& outcome) {
  if (outcome.output_tokens < 2) {
    return std::nullopt;
  }
  return (outcome.latency - outcome.time_to_first_token) /
         static_cast<double>(outcome.output_tokens - 1);
}

/// The values of one metric over all completed requests, in milliseconds.
std::vector<double> values_of(std::string_view key, const LoadResult& load) {
  std::vector<double> values;
  const auto add = [&values](double seconds) { values.push_back(seconds * 1e3); };
  for (const Outcome& outcome : load.outcomes) {
    if (!outcome.error.ok()) {
      continue;
    }
    if (key == "ttft") {
      add(outcome.time_to_first_token);
    } else if (key == "e2el") {
      add(outcome.latency);
    } else if (key == "itl") {
      std::for_each(outcome.inter_token_latencies.begin(), outcome.inter_token_latencies.end(),
                    add);
    } else if (const auto time = time_per_output_token(outcome)) {
      add(*time);
    }
  }
  return values;
}

MetricSummary summarize_metric(const std::string& key, const LoadResult& load,
                               const std::vector<double>& percents) {
  const std::vector<double> values = values_of(key, load);
  MetricSummary summary{.key = key,
                        .mean = mean(values),
                        .median = percentile(values, 50.0),
                        .deviation = standard_deviation(values),
                        .percentiles = {}};
  for (const double percent : percents) {
    summary.percentiles.emplace_back(percent, percentile(values, percent));
  }
  return summary;
}

bool meets(const Outcome& outcome, const std::vector<Goal>& goals) {
  return std::all_of(goals.begin(), goals.end(), [&outcome](const Goal& goal) {
    double seconds = outcome.latency;
    if (goal.metric == "ttft") {
      seconds = outcome.time_to_first_token;
    } else if (goal.metric == "tpot") {
      seconds = time_per_output_token(outcome).value_or(0.0);
    }
    return seconds * 1e3 <= goal.milliseconds;
  });
}

double peak_output(const LoadResult& load) {
  std::vector<std::int64_t> seconds(static_cast<std::size_t>(load.duration) + 1, 0);
  const auto count = [&seconds](double time) {
    ++seconds[std::min(static_cast<std::size_t>(time), seconds.size() - 1)];
  };
  for (const Outcome& outcome : load.outcomes) {
    if (!outcome.error.ok()) {
      continue;
    }
    double time = outcome.start + outcome.time_to_first_token;
    count(time);
    for (const double latency : outcome.inter_token_latencies) {
      time += latency;
      count(time);
    }
  }
  return static_cast<double>(*std::max_element(seconds.begin(), seconds.end()));
}

std::int64_t peak_concurrency(const LoadResult& load) {
  std::vector<std::pair<double, int>> changes;
  for (const Outcome& outcome : load.outcomes) {
    if (outcome.error.ok()) {
      changes.emplace_back(outcome.start, 1);
      changes.emplace_back(outcome.start + outcome.latency, -1);
    }
  }
  std::sort(changes.begin(), changes.end());  // At one time, an end comes before a start.
  std::int64_t running = 0;
  std::int64_t peak = 0;
  for (const auto& [time, change] : changes) {
    running += change;
    peak = std::max(peak, running);
  }
  return peak;
}

/// "99" or "99.9".
std::string percent_text(double percent) {
  return fmt::format("{:g}", percent);
}

std::string text_line(std::string_view label, std::string_view value) {
  return fmt::format("{:<40} {:<10}\n", label, value);
}
std::string text_line(std::string_view label, double value) {
  return text_line(label, fmt::format("{:.2f}", value));
}
std::string text_line(std::string_view label, std::int64_t value) {
  return text_line(label, fmt::format("{}", value));
}

void add_details(JsonObject& json, const LoadResult& load) {
  JsonArray inputs;
  JsonArray outputs;
  JsonArray starts;
  JsonArray ttfts;
  JsonArray itls;
  JsonArray texts;
  JsonArray errors;
  for (const Outcome& outcome : load.outcomes) {
    inputs.emplace_back(outcome.prompt_tokens);
    outputs.emplace_back(outcome.output_tokens);
    starts.emplace_back(outcome.start);
    ttfts.emplace_back(outcome.time_to_first_token);
    itls.emplace_back(
        JsonArray(outcome.inter_token_latencies.begin(), outcome.inter_token_latencies.end()));
    texts.emplace_back(outcome.text);
    errors.emplace_back(outcome.error.message());
  }
  json.emplace_back("input_lens", std::move(inputs));
  json.emplace_back("output_lens", std::move(outputs));
  json.emplace_back("start_times", std::move(starts));
  json.emplace_back("ttfts", std::move(ttfts));
  json.emplace_back("itls", std::move(itls));
  json.emplace_back("generated_texts", std::move(texts));
  json.emplace_back("errors", std::move(errors));
}

}  // namespace

Result<Goal> parse_goal(const std::string& text) {
  const std::size_t colon = text.find(':');
  Goal goal{.metric = text.substr(0, colon), .milliseconds = 0.0};
  const std::string_view number =
      colon == std::string::npos ? std::string_view() : std::string_view(text).substr(colon + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), goal.milliseconds);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  const bool known = goal.metric == "ttft" || goal.metric == "tpot" || goal.metric == "e2el";
  if (!whole || !known || !(goal.milliseconds >= 0.0)) {
    return invalid_argument("--goodput is " + text,
                            "give ttft, tpot or e2el with milliseconds, as in ttft:200");
  }
  return goal;
}

Result<ServeSummary> summarize(const LoadResult& load, const ReportOptions& options) {
  ServeSummary summary;
  summary.duration = load.duration;
  std::int64_t good = 0;
  for (const Outcome& outcome : load.outcomes) {
    if (!outcome.error.ok()) {
      ++summary.failed;
      continue;
    }
    ++summary.completed;
    summary.input_tokens += outcome.prompt_tokens;
    summary.output_tokens += outcome.output_tokens;
    good += meets(outcome, options.goals) ? 1 : 0;
  }
  const auto rate = [&load](std::int64_t count) {
    return load.duration > 0.0 ? static_cast<double>(count) / load.duration : 0.0;
  };
  summary.request_throughput = rate(summary.completed);
  summary.output_throughput = rate(summary.output_tokens);
  summary.total_token_throughput = rate(summary.input_tokens + summary.output_tokens);
  if (!options.goals.empty()) {
    summary.request_goodput = rate(good);
  }
  summary.peak_output_throughput = peak_output(load);
  summary.peak_concurrency = peak_concurrency(load);
  for (const std::string& key : options.metrics) {
    if (find_metric(key) == nullptr) {
      return invalid_argument("--percentile-metrics names " + key, "give ttft, tpot, itl, e2el");
    }
    summary.metrics.push_back(summarize_metric(key, load, options.percentiles));
  }
  return summary;
}

std::string serve_text(const ServeSummary& summary, const ReportOptions& options) {
  std::string text = fmt::format("{:=^50}\n", " Serving Benchmark Result ");
  text += text_line("Successful requests:", summary.completed);
  text += text_line("Failed requests:", summary.failed);
  if (options.max_concurrency > 0) {
    text += text_line("Maximum request concurrency:", options.max_concurrency);
  }
  if (std::isfinite(options.request_rate)) {
    text += text_line("Request rate configured (RPS):", options.request_rate);
  }
  text += text_line("Benchmark duration (s):", summary.duration);
  text += text_line("Total input tokens:", summary.input_tokens);
  text += text_line("Total generated tokens:", summary.output_tokens);
  text += text_line("Request throughput (req/s):", summary.request_throughput);
  if (summary.request_goodput) {
    text += text_line("Request goodput (req/s):", *summary.request_goodput);
  }
  text += text_line("Output token throughput (tok/s):", summary.output_throughput);
  text += text_line("Peak output token throughput (tok/s):", summary.peak_output_throughput);
  text += text_line("Peak concurrent requests:", static_cast<double>(summary.peak_concurrency));
  text += text_line("Total token throughput (tok/s):", summary.total_token_throughput);
  for (const MetricSummary& metric : summary.metrics) {
    const MetricName& name = *find_metric(metric.key);
    text += fmt::format("{:-^50}\n", name.title);
    text += text_line(fmt::format("Mean {} (ms):", name.label), metric.mean);
    text += text_line(fmt::format("Median {} (ms):", name.label), metric.median);
    for (const auto& [percent, value] : metric.percentiles) {
      text += text_line(fmt::format("P{} {} (ms):", percent_text(percent), name.label), value);
    }
  }
  return text + std::string(50, '=') + "\n";
}

JsonObject serve_json(const ServeSummary& summary, const LoadResult& load,
                      const ReportOptions& options) {
  JsonObject json{
      {"duration", summary.duration},
      {"completed", summary.completed},
      {"failed", summary.failed},
      {"total_input_tokens", summary.input_tokens},
      {"total_output_tokens", summary.output_tokens},
      {"request_throughput", summary.request_throughput},
      {"request_goodput", summary.request_goodput ? Json(*summary.request_goodput) : Json()},
      {"output_throughput", summary.output_throughput},
      {"total_token_throughput", summary.total_token_throughput},
      {"max_output_tokens_per_s", summary.peak_output_throughput},
      {"max_concurrent_requests", summary.peak_concurrency},
  };
  for (const MetricSummary& metric : summary.metrics) {
    json.emplace_back("mean_" + metric.key + "_ms", metric.mean);
    json.emplace_back("median_" + metric.key + "_ms", metric.median);
    json.emplace_back("std_" + metric.key + "_ms", metric.deviation);
    for (const auto& [percent, value] : metric.percentiles) {
      json.emplace_back("p" + percent_text(percent) + "_" + metric.key + "_ms", value);
    }
  }
  if (options.detailed) {
    add_details(json, load);
  }
  return json;
}

}  // namespace godwit
