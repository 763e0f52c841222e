// GGUF files against what others compute from them (tools/make_gguf_golden.py): a forward over the
// weights as the gguf package dequantises them, and llama.cpp.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "runner/testing/golden.h"
#include "runner/testing/model_harness.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;
using test::argmax;
using test::logprob;
using test::ModelHarness;
using test::to_ids;

/// A lead of the largest logit over the second that makes a choice certain when nothing is rounded.
constexpr double kCertain = 0.05;
/// The same when activations are rounded. llama.cpp's own rounding turns choices that lead by up to
/// 0.456 (it chooses otherwise on the dequantised weights of qwen2-q8_0), so that below this, two
/// programs that round alike but not in the same order may differ; at most in one step of ten.
constexpr double kCertainRounded = 0.5;
constexpr std::int64_t kOneOf = 10;
/// How much further from the dequantised weights than llama.cpp the fast mode may be.
constexpr double kLikeLlamaCpp = 1.25;

fs::path data_folder() {
  return test::test_data() / "gguf";
}

Json read_golden(const std::string& name) {
  return parse_json(test::read_text(data_folder() / name), name).value();
}

/// The default model, where ./run keeps it, or where GODWIT_DEFAULT_MODEL says.
std::optional<fs::path> default_model(const std::string& file) {
  fs::path path;
  if (const char* given = std::getenv("GODWIT_DEFAULT_MODEL")) {
    path = given;
  } else if (const char* cache = std::getenv("XDG_CACHE_HOME")) {
    path = fs::path(cache) / "godwit" / file;
  } else if (const char* home = std::getenv("HOME")) {
    path = fs::path(home) / ".cache" / "godwit" / file;
  }
  return fs::exists(path) ? std::optional(path) : std::nullopt;
}

std::unique_ptr<ModelHarness> load(const fs::path& path, Precision precision) {
  return ModelHarness::load(path, {.isa = {}, .threads = 2, .precision = precision});
}

/// Logits after each of `ids`, in one step.
std::vector<std::vector<float>> logits_of(ModelHarness& model, std::vector<TokenId> ids) {
  return model.step({{.sequence = 0, .start = 0, .ids = std::move(ids)}});
}

struct Errors {
  double largest = 0.0;
  double sum = 0.0;
  std::int64_t count = 0;

  void add(double error) {
    const double size = std::isnan(error) ? INFINITY : std::abs(error);
    largest = std::max(largest, size);
    sum += size;
    ++count;
  }
  [[nodiscard]] double mean() const { return count == 0 ? 0.0 : sum / static_cast<double>(count); }
};

/// Adds the errors of the logprobs of ids[1], ids[2], ...
void compare_next(const std::vector<std::vector<float>>& rows, const std::vector<TokenId>& ids,
                  const Json& golden, Errors& errors) {
  const JsonArray& next = golden.as_array();
  ASSERT_EQ(next.size() + 1, ids.size());
  for (std::size_t i = 0; i < next.size(); ++i) {
    errors.add(logprob(rows[i], ids[i + 1]) - next[i].as_double());
  }
}

/// How far llama.cpp's own logprobs are from those of the dequantised weights.
Errors llama_cpp_errors(const Json& answers, const Json& golden) {
  Errors errors;
  const JsonArray& prompts = golden.find("prompts")->as_array();
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const JsonArray& next = prompts[p].find("next_logprobs")->as_array();
    const JsonArray& theirs = answers.as_array()[p].find("next_logprobs")->as_array();
    for (std::size_t i = 0; i < next.size(); ++i) {
      errors.add(theirs[i].as_double() - next[i].as_double());
    }
  }
  return errors;
}

struct Agreement {
  std::int64_t compared = 0;
  std::vector<double> margins_of_others;  ///< Where another id was chosen.
  Errors logprobs;

  /// Steps where another id was chosen although the margin was above `margin`.
  [[nodiscard]] std::int64_t others(double margin) const {
    return std::count_if(margins_of_others.begin(), margins_of_others.end(),
                         [&](double lead) { return lead > margin; });
  }
};

/// Follows llama.cpp's ids and compares what the model would choose at each step.
Agreement agreement(ModelHarness& model, const Json& answers) {
  Agreement result;
  for (const Json& answer : answers.as_array()) {
    std::vector<TokenId> ids = to_ids(*answer.find("ids"));
    const std::size_t start = ids.size() - 1;
    const std::vector<TokenId> chosen = to_ids(*answer.find("greedy_ids"));
    const JsonArray& margins = answer.find("greedy_margins")->as_array();
    ids.insert(ids.end(), chosen.begin(), chosen.end());
    const std::vector<std::vector<float>> rows = logits_of(model, ids);
    for (std::size_t step = 0; step < chosen.size(); ++step) {
      const double margin = margins[step].as_double();
      result.compared += margin > kCertain ? 1 : 0;
      if (argmax(rows[start + step]) != chosen[step]) {
        result.margins_of_others.push_back(margin);
      }
    }
    compare_next(rows, ids, *answer.find("next_logprobs"), result.logprobs);
  }
  return result;
}

std::string to_text(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) {
    text += (text.empty() ? "" : " ") + std::to_string(value);
  }
  return text;
}

/// Checks choices against those that llama.cpp made with rounded activations.
void expect_choices_of_llama_cpp(ModelHarness& model, const std::string& mode,
                                 const Json& answers) {
  const Agreement result = agreement(model, answers);
  testing::Test::RecordProperty("steps", std::to_string(result.compared));
  testing::Test::RecordProperty(mode + "_others", to_text(result.margins_of_others));
  EXPECT_EQ(result.others(kCertainRounded), 0) << to_text(result.margins_of_others);
  EXPECT_LE(result.others(kCertain) * kOneOf, result.compared) << to_text(result.margins_of_others);
}

struct GgufCase {
  const char* name;
  /// What bf16 keys and values add to the mean error of a logprob in the fast mode. Measured alone
  /// on llama-f16 (0.017) and qwen3-f32 (0.010); a trained model (llama-q8_0, -q4_0) minds it less.
  /// The K types pair with blocks of 32 inputs here and of 256 there, which leaves room for the
  /// cache; wide-q8_k has no answers of llama.cpp, so it covers the rounding of inputs (0.047) too.
  double cache_error;
};

void PrintTo(const GgufCase& golden, std::ostream* out) {
  *out << golden.name;
}

class GgufGoldenTest : public testing::TestWithParam<GgufCase> {
 protected:
  [[nodiscard]] std::unique_ptr<ModelHarness> load_file(Precision precision) const {
    return load(data_folder() / (name_ + ".gguf"), precision);
  }
  [[nodiscard]] const Json& answers_on_dequantised() const {
    return *llama_cpp_.find("files")->find(name_)->find("dequantised");
  }
  /// Of the file itself; llama.cpp cannot multiply with Q8_K, whose answers are of the dequantised
  /// weights, so that no rounding of its own is allowed for.
  [[nodiscard]] const Json& answers_on_stored() const {
    const Json* stored = llama_cpp_.find("files")->find(name_)->find("stored");
    return stored != nullptr ? *stored : answers_on_dequantised();
  }

  std::string name_ = GetParam().name;
  Json golden_ = read_golden(name_ + ".json");
  Json llama_cpp_ = read_golden("llama_cpp.json");
  double tolerance_ = 2e-3 * golden_.find("logit_std")->as_double();
};

TEST_P(GgufGoldenTest, ExactModeEqualsDequantisedWeights) {
  const auto model = load_file(Precision::kExact);
  Errors logit_errors;
  Errors logprob_errors;
  std::int64_t compared_greedy = 0;
  for (const Json& prompt : golden_.find("prompts")->as_array()) {
    const std::vector<TokenId> ids = to_ids(*prompt.find("ids"));
    const std::vector<std::vector<float>> rows = logits_of(*model, ids);
    const JsonArray& last = prompt.find("last_logits")->as_array();
    ASSERT_EQ(last.size(), rows.back().size());
    for (std::size_t v = 0; v < last.size(); ++v) {
      logit_errors.add(rows.back()[v] - last[v].as_double());
    }
    compare_next(rows, ids, *prompt.find("next_logprobs"), logprob_errors);

    const std::vector<TokenId> greedy = to_ids(*prompt.find("greedy_ids"));
    const JsonArray& margins = prompt.find("greedy_margins")->as_array();
    std::vector<float> logits = rows.back();
    for (std::size_t step = 0; step < greedy.size(); ++step) {
      if (margins[step].as_double() > kCertain) {
        ASSERT_EQ(argmax(logits), greedy[step]) << "step " << step;
        ++compared_greedy;
      }
      const auto start = static_cast<std::int64_t>(ids.size() + step);
      logits = model->step({{.sequence = 0, .start = start, .ids = {greedy[step]}}}).back();
    }
  }
  RecordProperty("logit_error", std::to_string(logit_errors.largest));
  RecordProperty("logprob_error", std::to_string(logprob_errors.largest));
  EXPECT_LE(logit_errors.largest, tolerance_);
  EXPECT_LE(logprob_errors.largest, tolerance_);
  EXPECT_GT(compared_greedy, 40);
}

TEST_P(GgufGoldenTest, ExactModeEqualsLlamaCppOnDequantisedWeights) {
  const auto model = load_file(Precision::kExact);
  const Agreement result = agreement(*model, answers_on_dequantised());
  RecordProperty("logprob_error", std::to_string(result.logprobs.largest));
  EXPECT_LE(result.logprobs.largest, tolerance_);
  EXPECT_GT(result.compared, 40);
  EXPECT_EQ(result.others(kCertain), 0) << to_text(result.margins_of_others);
}

TEST_P(GgufGoldenTest, FastModeIsAsNearAsLlamaCpp) {
  const auto model = load_file(Precision::kFast);
  Errors errors;
  for (const Json& prompt : golden_.find("prompts")->as_array()) {
    const std::vector<TokenId> ids = to_ids(*prompt.find("ids"));
    compare_next(logits_of(*model, ids), ids, *prompt.find("next_logprobs"), errors);
  }
  const Errors theirs = llama_cpp_errors(answers_on_stored(), golden_);
  RecordProperty("mean_logprob_error", std::to_string(errors.mean()));
  RecordProperty("mean_logprob_error_of_llama_cpp", std::to_string(theirs.mean()));
  EXPECT_GT(errors.count, 100);
  EXPECT_LE(errors.mean(), kLikeLlamaCpp * theirs.mean() + GetParam().cache_error);
}

TEST_P(GgufGoldenTest, BothModesChooseAsLlamaCpp) {
  for (const Precision precision : {Precision::kExact, Precision::kFast}) {
    const std::string mode = precision == Precision::kExact ? "exact" : "fast";
    SCOPED_TRACE(mode);
    const auto model = load_file(precision);
    expect_choices_of_llama_cpp(*model, mode, answers_on_stored());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, GgufGoldenTest,
    testing::Values(
        GgufCase{"llama-f16", 0.02}, GgufCase{"llama-bf16", 0.02}, GgufCase{"llama-q8_0", 0.005},
        GgufCase{"llama-q4_0", 0.005}, GgufCase{"llama-q4_1", 0.02}, GgufCase{"qwen2-q8_0", 0.015},
        GgufCase{"qwen3-f32", 0.015}, GgufCase{"qwen3-f16", 0.015}, GgufCase{"qwen3-bf16", 0.015},
        GgufCase{"qwen3-q8_0", 0.015}, GgufCase{"qwen3-q4_0", 0.015}, GgufCase{"qwen3-q4_1", 0.015},
        GgufCase{"qwen3-q5_0", 0.015}, GgufCase{"qwen3-q5_1", 0.015}, GgufCase{"wide-q2_k", 0.0},
        GgufCase{"wide-q3_k", 0.0}, GgufCase{"wide-q4_k", 0.0}, GgufCase{"wide-q5_k", 0.0},
        GgufCase{"wide-q6_k", 0.0}, GgufCase{"wide-q8_k", 0.06}, GgufCase{"wide-mixed", 0.0}));

/// The default model on six prompts.
class DefaultModelGoldenTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::optional<fs::path> path = default_model(recorded().find("file")->as_string());
    if (!path) {
      GTEST_SKIP() << "the default model is not in the cache; tools/fetch_default_model gets it";
    }
    path_ = *path;
  }

  [[nodiscard]] const Json& recorded() const { return *llama_cpp_.find("default_model"); }

  /// Errors of the logprobs along llama.cpp's ids; `others` counts choices that the reference would
  /// not make where it is certain.
  Errors compare_with_reference(ModelHarness& model, std::int64_t& others) const {
    Errors errors;
    for (const Json& prompt : golden_.find("prompts")->as_array()) {
      const std::vector<TokenId> ids = to_ids(*prompt.find("ids"));
      const std::vector<std::vector<float>> rows = logits_of(model, ids);
      compare_next(rows, ids, *prompt.find("next_logprobs"), errors);
      const auto start = static_cast<std::size_t>(*prompt.find("prompt_len")->to_int64()) - 1;
      const std::vector<TokenId> choices = to_ids(*prompt.find("choices"));
      const JsonArray& margins = prompt.find("margins")->as_array();
      for (std::size_t step = 0; step < choices.size(); ++step) {
        const bool certain = margins[step].as_double() > kCertain;
        others += certain && argmax(rows[start + step]) != choices[step] ? 1 : 0;
      }
    }
    return errors;
  }

  Json llama_cpp_ = read_golden("llama_cpp.json");
  Json golden_ = read_golden("default.json");
  fs::path path_;
};

TEST_F(DefaultModelGoldenTest, ExactModeEqualsReferenceAndLlamaCppOnDequantisedWeights) {
  const auto model = load(path_, Precision::kExact);
  std::int64_t others = 0;
  const Errors errors = compare_with_reference(*model, others);
  RecordProperty("logprob_error", std::to_string(errors.largest));
  EXPECT_LE(errors.largest, 2e-3);
  EXPECT_EQ(others, 0);
  const Agreement result = agreement(*model, *recorded().find("dequantised"));
  RecordProperty("logprob_error_to_llama_cpp", std::to_string(result.logprobs.largest));
  EXPECT_LE(result.logprobs.largest, 2e-3);
  EXPECT_GT(result.compared, 150);
  EXPECT_EQ(result.others(kCertain), 0) << to_text(result.margins_of_others);
}

TEST_F(DefaultModelGoldenTest, FastModeIsAsNearAsLlamaCppAndChoosesAsIt) {
  const auto model = load(path_, Precision::kFast);
  std::int64_t others = 0;
  const Errors errors = compare_with_reference(*model, others);
  const Errors theirs = llama_cpp_errors(*recorded().find("stored"), golden_);
  RecordProperty("mean_logprob_error", std::to_string(errors.mean()));
  RecordProperty("mean_logprob_error_of_llama_cpp", std::to_string(theirs.mean()));
  RecordProperty("choices_unlike_reference", std::to_string(others));
  EXPECT_LE(errors.mean(), kLikeLlamaCpp * theirs.mean());
  expect_choices_of_llama_cpp(*model, "fast", *recorded().find("stored"));
}

}  // namespace
}  // namespace godwit
