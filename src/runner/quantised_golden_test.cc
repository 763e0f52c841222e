// Quantised safetensors with rounded activations, against Hugging Face's numbers on the same
// weights and exact activations. Where the scheme rounds activations itself (golden_actq.json), it
// must not come nearer than godwit does.

#include <cmath>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "runner/testing/golden.h"
#include "runner/testing/model_harness.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

struct FastCase {
  const char* fixture;
  double bound;  ///< Of the mean difference of log probabilities of the next token.
};

void PrintTo(const FastCase& fast, std::ostream* out) {
  *out << fast.fixture;
}

Json read_golden(const fs::path& file) {
  return parse_json(test::read_text(file), file.string()).value();
}

/// Mean difference of what two say of the same tokens.
class MeanError {
 public:
  void add(double one, double other) {
    sum_ += std::abs(one - other);
    ++count_;
  }
  [[nodiscard]] double value() const { return sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0.0;
  std::int64_t count_ = 0;
};

class QuantisedFastTest : public testing::TestWithParam<FastCase> {};

TEST_P(QuantisedFastTest, LogprobsAreNearHuggingFaces) {
  const auto fixture = test::model_fixture(GetParam().fixture);
  if (!fixture) {
    GTEST_SKIP() << "only ../shared/fixtures has it";
  }
  const auto model = test::ModelHarness::load(
      *fixture, {.isa = {}, .threads = 2, .precision = Precision::kFast, .max_model_len = 256});
  const Json golden = read_golden(*fixture / "golden.json");
  MeanError ours;
  for (const Json& prompt : golden.find("prompts")->as_array()) {
    const std::vector<TokenId> ids = test::to_ids(*prompt.find("ids"));
    const auto logits = model->step({{.sequence = 0, .start = 0, .ids = ids}});
    const JsonArray& expected = prompt.find("next_logprobs")->as_array();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ours.add(test::logprob(logits[i], ids[i + 1]), expected[i].as_double());
    }
  }
  RecordProperty("mean_logprob_error", std::to_string(ours.value()));
  EXPECT_LE(ours.value(), GetParam().bound);

  const fs::path rounded = *fixture / "golden_actq.json";
  if (fs::exists(rounded)) {
    MeanError theirs;
    const Json other = read_golden(rounded);
    const JsonArray& prompts = golden.find("prompts")->as_array();
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      const JsonArray& exact = prompts[p].find("next_logprobs")->as_array();
      const Json& same = other.find("prompts")->as_array()[p];
      for (std::size_t i = 0; i < exact.size(); ++i) {
        theirs.add(exact[i].as_double(), same.find("next_logprobs")->as_array()[i].as_double());
      }
    }
    RecordProperty("mean_logprob_error_of_the_scheme", std::to_string(theirs.value()));
    EXPECT_LE(ours.value(), theirs.value());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, QuantisedFastTest,
    testing::Values(FastCase{"q_llama_fp8", 0.02}, FastCase{"q_llama_int8", 0.09},
                    FastCase{"q_llama_gptq", 0.09}, FastCase{"q_llama_gptq_act", 0.09},
                    FastCase{"q_llama_awq", 0.09}, FastCase{"q_qwen3_moe_fp8", 0.03},
                    FastCase{"q_qwen3_moe_int8", 0.09}, FastCase{"q_qwen3_moe_gptq", 0.09},
                    FastCase{"q_qwen3_moe_awq", 0.09}, FastCase{"q_deepseek_v3_fp8", 0.03},
                    FastCase{"q_gpt_oss_mxfp4", 0.25}));

}  // namespace
}  // namespace godwit
