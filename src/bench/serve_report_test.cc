#include "bench/serve_report.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

Outcome outcome(double start, double first, std::vector<double> gaps, std::int64_t prompt) {
  Outcome made;
  made.start = start;
  made.time_to_first_token = first;
  made.latency = first;
  for (const double gap : gaps) {
    made.latency += gap;
  }
  made.prompt_tokens = prompt;
  made.output_tokens = static_cast<std::int64_t>(gaps.size()) + 1;
  made.inter_token_latencies = std::move(gaps);
  return made;
}

/// Two requests that overlap for half a second, and one that failed.
LoadResult load() {
  LoadResult result;
  result.duration = 2.0;
  result.outcomes.push_back(outcome(0.0, 0.5, {0.25, 0.25}, 10));
  result.outcomes.push_back(outcome(0.5, 0.25, {0.5, 0.5, 0.25}, 20));
  result.outcomes.push_back(outcome(0.0, 9.0, {9.0}, 1000));
  result.outcomes.back().error = unavailable("gone");
  return result;
}

TEST(ServeReport, CountsAndRates) {
  ReportOptions options;
  options.goals = {{"ttft", 300.0}, {"e2el", 1500.0}};
  const Result<ServeSummary> summary = summarize(load(), options);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->completed, 2);
  EXPECT_EQ(summary->failed, 1);
  EXPECT_EQ(summary->input_tokens, 30);
  EXPECT_EQ(summary->output_tokens, 7);
  EXPECT_DOUBLE_EQ(summary->request_throughput, 1.0);
  EXPECT_DOUBLE_EQ(summary->request_goodput.value(), 0.5);
  EXPECT_DOUBLE_EQ(summary->output_throughput, 3.5);
  EXPECT_DOUBLE_EQ(summary->total_token_throughput, 18.5);
  // Tokens at 0.5, 0.75, 1.0 and at 0.75, 1.25, 1.75, 2.0 (which the last second holds).
  EXPECT_DOUBLE_EQ(summary->peak_output_throughput, 3.0);
  EXPECT_EQ(summary->peak_concurrency, 2);
}

TEST(ServeReport, MetricsAreInMilliseconds) {
  ReportOptions options;
  options.percentiles = {25.0, 99.0};
  const ServeSummary summary = summarize(load(), options).value();
  ASSERT_EQ(summary.metrics.size(), 4U);
  EXPECT_DOUBLE_EQ(summary.metrics[0].mean, 375.0);  // ttft: 500, 250
  EXPECT_DOUBLE_EQ(summary.metrics[0].percentiles[0].second, 312.5);
  EXPECT_DOUBLE_EQ(summary.metrics[1].mean, (250.0 + 1250.0 / 3.0) / 2.0);  // tpot
  EXPECT_DOUBLE_EQ(summary.metrics[2].median, 250.0);  // itl: 250 250 500 500 250
  EXPECT_DOUBLE_EQ(summary.metrics[3].mean, 1250.0);   // e2el: 1000, 1500
}

TEST(ServeReport, TextHasVllmsLabels) {
  ReportOptions options;
  options.max_concurrency = 8;
  const ServeSummary summary = summarize(load(), options).value();
  const std::string text = serve_text(summary, options);
  for (const char* line : {
           "============ Serving Benchmark Result ============\n",
           "Successful requests:                     2         \n",
           "Maximum request concurrency:             8         \n",
           "Benchmark duration (s):                  2.00      \n",
           "Total generated tokens:                  7         \n",
           "Output token throughput (tok/s):         3.50      \n",
           "---------------Time to First Token----------------\n",
           "Mean TTFT (ms):                          375.00    \n",
           "-----Time per Output Token (excl. 1st token)------\n",
           "---------------Inter-token Latency----------------\n",
           "Median ITL (ms):                         250.00    \n",
           "P99 E2EL (ms):",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(ServeReport, RefusesWhatItDoesNotKnow) {
  ReportOptions options;
  options.metrics = {"ttft", "speed"};
  EXPECT_FALSE(summarize(load(), options).ok());
  EXPECT_TRUE(parse_goal("tpot:12.5").ok());
  for (const char* goal : {"ttft", "itl:5", "ttft:", "ttft:x", "ttft:-1", "ttft:nan"}) {
    EXPECT_FALSE(parse_goal(goal).ok()) << goal;
  }
}

}  // namespace
}  // namespace godwit
