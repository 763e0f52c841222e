#include "engine/throughput_log.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

using std::chrono::seconds;

TEST(ThroughputLog, TellsWhatHappenedBetweenTwoReadings) {
  Metrics metrics({.model_name = "m", .max_model_len = 100, .cache_config = {}});
  metrics.add_step({.prompt_tokens = 100,
                    .cached_prompt_tokens = 20,
                    .generation_tokens = 7,
                    .prefix_queries = 100,
                    .prefix_hits = 20});
  const EngineTotals before = metrics.totals();
  EXPECT_EQ(before.prompt_tokens, 80);  // Computed ones alone.
  metrics.add_step({.prompt_tokens = 50,
                    .cached_prompt_tokens = 40,
                    .generation_tokens = 5,
                    .prefix_queries = 50,
                    .prefix_hits = 40});
  metrics.set_load({.running = 3, .waiting = 2, .kv_cache_usage = 0.125});
  const EngineTotals now = metrics.totals();
  EXPECT_EQ(throughput_line(before, now, seconds(10)),
            "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 0.5 tokens/s, "
            "Running: 3 reqs, Waiting: 2 reqs, KV cache usage: 12.5%, Prefix cache hit rate: "
            "80.0%");
  // Without a look-up in between, the rate is that of all.
  EXPECT_NE(throughput_line(now, now, seconds(10)).find("hit rate: 40.0%"), std::string::npos);
  EXPECT_TRUE(is_busy(before, now));
  EXPECT_TRUE(is_busy(now, now));
  metrics.set_load({});
  EXPECT_FALSE(is_busy(now, metrics.totals()));
}

TEST(ThroughputLog, EndsAtOnce) {
  const Metrics metrics({.model_name = "m", .max_model_len = 100, .cache_config = {}});
  const SystemClock clock;
  const ThroughputLog log(metrics, clock, seconds(3600));
}

}  // namespace
}  // namespace godwit
