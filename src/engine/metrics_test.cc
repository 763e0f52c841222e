#include "engine/metrics.h"

#include <chrono>

#include <gtest/gtest.h>

namespace godwit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

MetricsOptions options() {
  return {.model_name = "m", .max_model_len = 2048, .cache_config = {{"block_size", "16"}}};
}

TEST(Metrics, CountersAndGaugesCarryTheNamesAndLabelsOfVllm) {
  Metrics metrics(options());
  metrics.set_load({.running = 3, .waiting = 2, .deferred = 1, .kv_cache_usage = 0.25});
  metrics.add_step({.prompt_tokens = 10,
                    .cached_prompt_tokens = 4,
                    .generation_tokens = 5,
                    .batch_tokens = 11,
                    .preemptions = 1,
                    .prefix_queries = 9,
                    .prefix_hits = 4});
  const std::string text = metrics.expose();
  const std::string labels = R"({engine="0",model_name="m"} )";
  EXPECT_TRUE(has(text, "vllm:num_requests_running" + labels + "3\n")) << text;
  EXPECT_TRUE(has(text, "vllm:num_requests_waiting" + labels + "2\n"));
  EXPECT_TRUE(has(text, "vllm:kv_cache_usage_perc" + labels + "0.25\n"));
  EXPECT_TRUE(has(text, "# TYPE vllm:prompt_tokens_total counter\n"));
  EXPECT_TRUE(has(text, "vllm:prompt_tokens_total" + labels + "10\n"));
  EXPECT_TRUE(has(text, "vllm:prompt_tokens_cached_total" + labels + "4\n"));
  EXPECT_TRUE(has(text, "vllm:generation_tokens_total" + labels + "5\n"));
  EXPECT_TRUE(has(text, "vllm:num_preemptions_total" + labels + "1\n"));
  EXPECT_TRUE(has(text, "vllm:prefix_cache_queries_total" + labels + "9\n"));
  EXPECT_TRUE(has(text, "vllm:prefix_cache_hits_total" + labels + "4\n"));
  EXPECT_TRUE(has(text, R"(vllm:cache_config_info{block_size="16",engine="0",model_name="m"} 1)"));
  EXPECT_TRUE(has(text, "# TYPE vllm:iteration_tokens_total histogram\n"));
  EXPECT_TRUE(
      has(text, R"(vllm:iteration_tokens_total_bucket{engine="0",model_name="m",le="8"} 0)"));
  EXPECT_TRUE(
      has(text, R"(vllm:iteration_tokens_total_bucket{engine="0",model_name="m",le="16"} 1)"));
  EXPECT_TRUE(has(text, R"(source="local_compute"} 6)"));
}

TEST(Metrics, TimesOfAnOutputFallIntoTheirBuckets) {
  Metrics metrics(options());
  metrics.record_first_token(milliseconds(30));
  metrics.record_inter_token(milliseconds(20));
  metrics.record_finished({.arrived = seconds(10),
                           .scheduled = seconds(11),
                           .first_token = seconds(13),
                           .last_token = seconds(17),
                           .finished = seconds(17),
                           .prompt_tokens = 100,
                           .cached_tokens = 60,
                           .generation_tokens = 5,
                           .max_tokens = 5},
                          FinishReason::kLength);
  metrics.record_request(2, 5);
  const std::string text = metrics.expose();
  const std::string labels = R"({engine="0",model_name="m"} )";
  EXPECT_TRUE(has(text, "vllm:request_queue_time_seconds_sum" + labels + "1\n")) << text;
  EXPECT_TRUE(has(text, "vllm:request_prefill_time_seconds_sum" + labels + "2\n"));
  EXPECT_TRUE(has(text, "vllm:request_decode_time_seconds_sum" + labels + "4\n"));
  EXPECT_TRUE(has(text, "vllm:request_inference_time_seconds_sum" + labels + "6\n"));
  EXPECT_TRUE(has(text, "vllm:e2e_request_latency_seconds_sum" + labels + "7\n"));
  EXPECT_TRUE(has(text, "vllm:request_time_per_output_token_seconds_sum" + labels + "1\n"));
  EXPECT_TRUE(has(text, "vllm:request_prompt_tokens_sum" + labels + "100\n"));
  EXPECT_TRUE(has(text, "vllm:request_prefill_kv_computed_tokens_sum" + labels + "40\n"));
  EXPECT_TRUE(has(text, "vllm:request_generation_tokens_sum" + labels + "5\n"));
  EXPECT_TRUE(has(text, "vllm:request_params_n_sum" + labels + "2\n"));
  EXPECT_TRUE(has(text, R"(finished_reason="length",model_name="m"} 1)")) << text;
  EXPECT_TRUE(has(text, R"(finished_reason="stop",model_name="m"} 0)"));
  EXPECT_TRUE(has(
      text, R"(vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le="0.02"} 0)"));
  EXPECT_TRUE(has(
      text, R"(vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le="0.04"} 1)"));
  EXPECT_TRUE(has(
      text, R"(vllm:e2e_request_latency_seconds_bucket{engine="0",model_name="m",le="0.3"} 0)"));
  // Lengths are counted up to the model's context, in steps of 1, 2 and 5.
  EXPECT_TRUE(
      has(text, R"(vllm:request_prompt_tokens_bucket{engine="0",model_name="m",le="2000"} 1)"));
  EXPECT_FALSE(
      has(text, R"(vllm:request_prompt_tokens_bucket{engine="0",model_name="m",le="5000"})"));
}

TEST(Metrics, AnOutputThatNeverRanHasNoRunningTimes) {
  Metrics metrics(options());
  metrics.record_finished({.arrived = seconds(10), .finished = seconds(12), .prompt_tokens = 3},
                          FinishReason::kAbort);
  const std::string text = metrics.expose();
  const std::string labels = R"({engine="0",model_name="m"} )";
  EXPECT_TRUE(has(text, "vllm:request_queue_time_seconds_count" + labels + "0\n"));
  EXPECT_TRUE(has(text, "vllm:request_decode_time_seconds_count" + labels + "0\n"));
  EXPECT_TRUE(has(text, "vllm:e2e_request_latency_seconds_sum" + labels + "2\n"));
  EXPECT_TRUE(has(text, R"(finished_reason="abort",model_name="m"} 1)"));
}

}  // namespace
}  // namespace godwit
