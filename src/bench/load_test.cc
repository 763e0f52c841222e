#include "bench/load.h"

#include <gtest/gtest.h>

#include "bench/random_prompts.h"

namespace godwit {
namespace {

TEST(ArrivalTimes, AllAtOnceWithoutARate) {
  EXPECT_EQ(arrival_times(3, {}), (std::vector<double>{0.0, 0.0, 0.0}));
}

TEST(ArrivalTimes, KeepToTheRateAndTheSeed) {
  LoadOptions options;
  options.request_rate = 10.0;
  for (const double burstiness : {0.5, 1.0, 100.0}) {
    options.burstiness = burstiness;
    const std::vector<double> times = arrival_times(20001, options);
    EXPECT_EQ(times.front(), 0.0);
    EXPECT_NEAR(times.back(), 2000.0, 100.0) << burstiness;
    EXPECT_EQ(times, arrival_times(20001, options));
  }
}

TEST(RandomPrompts, HaveTheLengthsThatAreAskedFor) {
  const RandomPrompts options{.count = 200,
                              .input_len = 20,
                              .output_len = 10,
                              .prefix_len = 5,
                              .range_ratio = 0.5,
                              .seed = 3};
  const std::vector<RandomPrompt> prompts = draw_prompts(options, {7, 8, 9}).value();
  ASSERT_EQ(prompts.size(), 200U);
  std::size_t shortest = 1000;
  std::size_t longest = 0;
  for (const RandomPrompt& prompt : prompts) {
    shortest = std::min(shortest, prompt.tokens.size());
    longest = std::max(longest, prompt.tokens.size());
    EXPECT_TRUE(prompt.output_len >= 5 && prompt.output_len <= 15);
    EXPECT_TRUE(std::equal(prompt.tokens.begin(), prompt.tokens.begin() + 5,
                           prompts.front().tokens.begin()));
    for (const TokenId token : prompt.tokens) {
      EXPECT_TRUE(token >= 7 && token <= 9);
    }
  }
  EXPECT_EQ(shortest, 15U);
  EXPECT_EQ(longest, 35U);
}

TEST(RandomPrompts, RefusesImpossibleNumbers) {
  EXPECT_FALSE(draw_prompts({.count = 0}, {1}).ok());
  EXPECT_FALSE(draw_prompts({.input_len = 0}, {1}).ok());
  EXPECT_FALSE(draw_prompts({.output_len = -1}, {1}).ok());
  EXPECT_FALSE(draw_prompts({.range_ratio = 1.0}, {1}).ok());
  EXPECT_FALSE(draw_prompts({.count = 1 << 20, .input_len = 1 << 20}, {1}).ok());
}

TEST(BaseUrl, ReadsHostPortAndPrefix) {
  const HttpTarget plain = parse_base_url("http://localhost:8000").value();
  EXPECT_EQ(plain.host, "localhost");
  EXPECT_EQ(plain.port, "8000");
  EXPECT_EQ(plain.prefix, "");
  const HttpTarget v6 = parse_base_url("http://[::1]:81/a/b/").value();
  EXPECT_EQ(v6.host, "::1");
  EXPECT_EQ(v6.port, "81");
  EXPECT_EQ(v6.prefix, "/a/b");
  EXPECT_EQ(parse_base_url("http://host").value().port, "80");
  for (const char* url : {"", "host:80", "https://host", "http://", "http://:80", "http://h:x",
                          "http://[::1", "http://h:123456", "http://h:80/a\r\nb"}) {
    EXPECT_FALSE(parse_base_url(url).ok()) << url;
  }
}

}  // namespace
}  // namespace godwit
