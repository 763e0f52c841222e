// A request's log probabilities are bit-equal whatever happens around it: batch mates, chunked
// prefill, prefix hits, preemption, threads. Each cell proves by counters that its combination
// happened.

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "engine/testing/engine_rig.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

constexpr std::int64_t kOutputTokens = 24;

std::filesystem::path fixture(const std::string& name) {
  return test::model_fixture(name).value();
}

/// The golden prompts of a fixture, and further ones cut from the longest: they share its prefix.
std::vector<std::vector<TokenId>> prompts_of(const std::string& name) {
  const Json golden =
      parse_json(test::read_text(fixture(name) / "golden.json"), "golden.json").value();
  std::vector<std::vector<TokenId>> prompts;
  for (const Json& prompt : golden.find("prompts")->as_array()) {
    std::vector<TokenId>& ids = prompts.emplace_back();
    for (const Json& id : prompt.find("ids")->as_array()) {
      ids.push_back(static_cast<TokenId>(*id.to_int64()));
    }
  }
  const std::vector<TokenId> longest =
      *std::max_element(prompts.begin(), prompts.end(),
                        [](const auto& a, const auto& b) { return a.size() < b.size(); });
  for (const std::ptrdiff_t length : {16, 33, 48, 100}) {
    prompts.emplace_back(longest.begin(), longest.begin() + length);
  }
  return prompts;
}

/// Bans every pair of equal tokens, and the odd half of the vocabulary's first 300.
std::shared_ptr<const TokenRules> no_token_twice_in_a_row() {
  TokenRules rules;
  for (TokenId token = 0; token < 300; token += 2) {
    rules.allowed.push_back(token);
    rules.banned.push_back({token, token});
  }
  return std::make_shared<const TokenRules>(std::move(rules));
}

std::vector<Request> requests_of(const std::vector<std::vector<TokenId>>& prompts) {
  std::vector<Request> requests;
  for (const std::vector<TokenId>& prompt : prompts) {
    Request request;
    request.id = std::to_string(requests.size());
    request.prompt = prompt;
    request.sampling.max_tokens = kOutputTokens;
    request.sampling.ignore_eos = true;
    request.sampling.logprobs = 20;
    // Half of them draw at random: a row's draw must not depend on the others either.
    request.sampling.temperature = requests.size() % 2 == 0 ? 0.0F : 0.8F;
    request.sampling.seed = 7;
    // And some are told which tokens they may draw, which depends on what they drew before.
    if (requests.size() % 3 == 1) {
      request.sampling.token_rules = no_token_twice_in_a_row();
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

std::uint32_t bits(float value) {
  std::uint32_t word = 0;
  std::memcpy(&word, &value, sizeof(word));
  return word;
}

void expect_same_bits(const std::vector<test::Answer>& expected,
                      const std::vector<test::Answer>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].logprobs.size(), static_cast<std::size_t>(kOutputTokens));
    ASSERT_EQ(actual[i].logprobs.size(), expected[i].logprobs.size()) << "request " << i;
    for (std::size_t t = 0; t < expected[i].logprobs.size(); ++t) {
      const TokenLogprob& want = expected[i].logprobs[t];
      const TokenLogprob& got = actual[i].logprobs[t];
      ASSERT_EQ(bits(want.logprob), bits(got.logprob)) << "request " << i << " token " << t;
      ASSERT_EQ(want.top.size(), got.top.size());
      for (std::size_t k = 0; k < want.top.size(); ++k) {
        ASSERT_EQ(want.top[k].first, got.top[k].first) << "request " << i << " token " << t;
        ASSERT_EQ(bits(want.top[k].second), bits(got.top[k].second));
      }
      ASSERT_EQ(want.token, got.token) << "request " << i << " token " << t;
    }
  }
}

struct ModelCase {
  const char* fixture;
  Precision precision;
  std::int64_t crowded = 40;  ///< Tokens of a step with which a small cache makes it preempt.
  /// Whether sequences outgrow a small cache. Where states are large beside the pages of these
  /// prompts, they wait for a state instead.
  bool outgrows = true;
};

void PrintTo(const ModelCase& model, std::ostream* out) {
  *out << model.fixture << (model.precision == Precision::kExact ? " exact" : " fast");
}

class ExactnessTest : public testing::TestWithParam<ModelCase> {
 protected:
  void SetUp() override {
    if (!test::model_fixture(GetParam().fixture)) {
      GTEST_SKIP() << "only ../shared/fixtures has it";
    }
    prompts_ = prompts_of(GetParam().fixture);
    test::EngineRig alone(fixture(GetParam().fixture), plain_options());
    for (Request& request : requests_of(prompts_)) {
      std::vector<Request> one;
      one.push_back(std::move(request));
      expected_.push_back(std::move(alone.answer(std::move(one)).front()));
    }
    ASSERT_EQ(alone.engine().counters().shared_steps, 0);
    ASSERT_EQ(alone.engine().counters().partial_prefills, 0);
  }

  /// One sequence at a time, whole prompts, no prefix cache, one thread.
  static test::RigOptions plain_options() {
    test::RigOptions options;
    options.runner.precision = GetParam().precision;
    options.runner.memory.kv_dtype =
        GetParam().precision == Precision::kExact ? DType::kF32 : DType::kBF16;
    options.runner.device_options.threads = 1;
    options.engine.enable_prefix_caching = false;
    return options;
  }

  /// Leaves room for the longest sequence alone, in small pages.
  void limit_cache(test::RigOptions& options) const {
    std::size_t longest = 0;
    for (const std::vector<TokenId>& prompt : prompts_) {
      longest = std::max(longest, prompt.size());
    }
    MemoryPlanOptions& memory = options.runner.memory;
    memory.block_size = 4;
    memory.max_num_batched_tokens = options.engine.max_num_batched_tokens;
    memory.max_model_len = static_cast<std::int64_t>(longest) + kOutputTokens;
    const ModelFiles files = std::move(open_model(fixture(GetParam().fixture))).value();
    memory.kv_cache_bytes = std::size_t{1} << 30;
    const MemoryPlan plan = std::move(plan_memory(*files.model, 0, 0, memory)).value();
    memory.kv_cache_bytes = plan.sequence_bytes;
  }

  /// Adds copies of some requests: admitted together, they outgrow a small cache.
  void crowd() {
    for (int i = 0; i < 12; ++i) {
      const std::size_t same = prompts_.size() % 6;  // As requests_of() varies them.
      prompts_.push_back(prompts_[same]);
      expected_.push_back(expected_[same]);
    }
  }

  EngineCounters run(const test::RigOptions& options) {
    test::EngineRig rig(fixture(GetParam().fixture), options);
    expect_same_bits(expected_, rig.answer(requests_of(prompts_)));
    return rig.engine().counters();
  }

  std::vector<std::vector<TokenId>> prompts_;
  std::vector<test::Answer> expected_;
};

TEST_P(ExactnessTest, BatchMates) {
  test::RigOptions options = plain_options();
  options.engine.max_num_batched_tokens = 64;
  const EngineCounters counters = run(options);
  EXPECT_GT(counters.shared_steps, 10);
  EXPECT_GT(counters.mixed_steps, 0);
}

TEST_P(ExactnessTest, ChunksOf1And7And64) {
  for (const std::int64_t chunk : {1, 7, 64}) {
    SCOPED_TRACE(chunk);
    test::RigOptions options = plain_options();
    options.engine.long_prefill_token_threshold = chunk;
    EXPECT_GT(run(options).partial_prefills, 0);
  }
}

TEST_P(ExactnessTest, PrefixHits) {
  test::RigOptions options = plain_options();
  options.engine.enable_prefix_caching = true;
  test::EngineRig rig(fixture(GetParam().fixture), options);
  expect_same_bits(expected_, rig.answer(requests_of(prompts_)));
  const std::int64_t before = rig.engine().counters().prefix_hit_tokens;
  const std::vector<test::Answer> again = rig.answer(requests_of(prompts_));
  expect_same_bits(expected_, again);
  EXPECT_GT(rig.engine().counters().prefix_hit_tokens, before + 64);
  for (std::size_t i = 0; i < prompts_.size(); ++i) {
    // All full pages but the one that holds the last token.
    EXPECT_EQ(again[i].cached_tokens, (std::ssize(prompts_[i]) - 1) / 16 * 16) << "request " << i;
  }
}

TEST_P(ExactnessTest, Preemption) {
  if (!GetParam().outgrows) {
    GTEST_SKIP() << "its sequences wait for states instead";
  }
  test::RigOptions options = plain_options();
  options.engine.max_num_batched_tokens = 16;
  crowd();
  limit_cache(options);
  EXPECT_GT(run(options).preemptions, 0);
}

TEST_P(ExactnessTest, ThreadsAndBlockSizes) {
  for (const int threads : {2, 3}) {
    SCOPED_TRACE(threads);
    test::RigOptions options = plain_options();
    options.runner.device_options.threads = threads;
    options.runner.memory.block_size = threads == 2 ? 32 : 24;
    EXPECT_GT(run(options).shared_steps, 10);
  }
}

TEST_P(ExactnessTest, EverythingAtOnce) {
  test::RigOptions options = plain_options();
  options.engine.enable_prefix_caching = true;
  options.engine.long_prefill_token_threshold = 7;
  options.engine.max_num_batched_tokens = GetParam().crowded;
  options.runner.device_options.threads = 2;
  crowd();
  if (GetParam().outgrows) {
    limit_cache(options);
  }
  test::EngineRig rig(fixture(GetParam().fixture), options);
  expect_same_bits(expected_, rig.answer(requests_of(prompts_)));
  expect_same_bits(expected_, rig.answer(requests_of(prompts_)));
  const EngineCounters counters = rig.engine().counters();
  EXPECT_EQ(counters.preemptions > 0, GetParam().outgrows);
  EXPECT_GT(counters.prefix_hit_tokens, 0);
  EXPECT_GT(counters.partial_prefills, 0);
  EXPECT_GT(counters.mixed_steps, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ExactnessTest,
    testing::Values(
        ModelCase{"tiny-dense", Precision::kExact}, ModelCase{"tiny-dense", Precision::kFast},
        ModelCase{"qwen2", Precision::kExact}, ModelCase{"qwen2", Precision::kFast},
        ModelCase{"qwen3", Precision::kExact}, ModelCase{"llama_rope3", Precision::kExact},
        ModelCase{"llama_tied", Precision::kFast}, ModelCase{"gpt2", Precision::kExact},
        ModelCase{"bloom", Precision::kExact}, ModelCase{"gemma2", Precision::kExact},
        ModelCase{"gemma3_text", Precision::kExact}, ModelCase{"gemma3_text", Precision::kFast},
        ModelCase{"gemma4_moe", Precision::kExact}, ModelCase{"gemma3n_text", Precision::kExact},
        ModelCase{"cohere2", Precision::kExact}, ModelCase{"gpt_neox", Precision::kFast},
        ModelCase{"qwen2_moe", Precision::kExact}, ModelCase{"qwen2_moe", Precision::kFast},
        ModelCase{"gpt_oss", Precision::kExact}, ModelCase{"gpt_oss", Precision::kFast},
        ModelCase{"llama4_text", Precision::kExact, 24},
        ModelCase{"granitemoe", Precision::kFast}));

/// Recurrent layers, alone or beside attention: states beside pages.
INSTANTIATE_TEST_SUITE_P(RecurrentLayers, ExactnessTest,
                         testing::Values(ModelCase{"lfm2", Precision::kExact},
                                         ModelCase{"lfm2", Precision::kFast},
                                         ModelCase{"lfm2_moe", Precision::kExact},
                                         ModelCase{"qwen3_next", Precision::kExact},
                                         ModelCase{"qwen3_next", Precision::kFast, 40, false},
                                         ModelCase{"bamba", Precision::kExact, 40, false},
                                         ModelCase{"jamba", Precision::kExact, 40, false},
                                         ModelCase{"mamba2", Precision::kFast, 40, false},
                                         ModelCase{"mamba", Precision::kExact, 40, false},
                                         ModelCase{"falcon_h1", Precision::kExact, 40, false},
                                         ModelCase{"nemotron_h", Precision::kExact, 40, false},
                                         ModelCase{"granitemoehybrid", Precision::kFast, 40, false},
                                         ModelCase{"minimax", Precision::kExact, 40, false},
                                         ModelCase{"kimi_linear", Precision::kExact, 40, false},
                                         ModelCase{"qwen3_5_moe", Precision::kExact}));

/// Quantised weights.
INSTANTIATE_TEST_SUITE_P(Quantised, ExactnessTest,
                         testing::Values(ModelCase{"q_llama_gptq_act", Precision::kExact},
                                         ModelCase{"q_llama_gptq_act", Precision::kFast},
                                         ModelCase{"q_llama_fp8", Precision::kExact},
                                         ModelCase{"q_llama_awq", Precision::kFast},
                                         ModelCase{"q_gpt_oss_mxfp4", Precision::kExact},
                                         ModelCase{"q_gpt_oss_mxfp4", Precision::kFast}));

/// Latent attention: with one step to the queries and with two, with chosen positions, with two
/// caches a layer.
INSTANTIATE_TEST_SUITE_P(LatentAttention, ExactnessTest,
                         testing::Values(ModelCase{"deepseek_v2", Precision::kFast},
                                         ModelCase{"deepseek_v3", Precision::kExact},
                                         ModelCase{"deepseek_v3", Precision::kFast},
                                         ModelCase{"deepseek_v32", Precision::kExact},
                                         ModelCase{"glm_moe_dsa", Precision::kFast},
                                         ModelCase{"longcat_flash", Precision::kExact},
                                         ModelCase{"tiny-mla-moe", Precision::kExact}));

}  // namespace
}  // namespace godwit
