// Every dense fixture against the numbers that Hugging Face's code gave.

#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "runner/testing/golden.h"
#include "runner/testing/model_harness.h"
#include "support/fixtures.h"
#include "weights/safetensors.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

/// One tensor of golden.safetensors as f32.
std::vector<float> golden_tensor(const fs::path& fixture, std::string_view name) {
  const Result<SafetensorsFile> file = SafetensorsFile::open(fixture / "golden.safetensors");
  CHECK(file.ok());
  const StoredTensor* tensor = file->find(name);
  CHECK(tensor != nullptr);
  std::vector<float> values(tensor->data.size() / sizeof(float));
  std::memcpy(values.data(), tensor->data.data(), tensor->data.size());
  return values;
}

using test::argmax;
using test::logprob;
using test::to_ids;

/// A copy of a fixture whose config.json is its config.v4.json.
class ConfigVariant {
 public:
  ConfigVariant(const fs::path& fixture, bool older) : path_(fixture) {
    if (!older) {
      return;
    }
    path_ = fs::path(testing::TempDir()) / ("godwit_v4_" + fixture.filename().string());
    fs::remove_all(path_);
    fs::create_directories(path_);
    for (const fs::directory_entry& entry : fs::directory_iterator(fixture)) {
      const std::string name = entry.path().filename().string();
      if (name.find(".safetensors") != std::string::npos) {
        fs::create_symlink(fs::absolute(entry.path()), path_ / name);
      }
    }
    fs::copy_file(fixture / "config.v4.json", path_ / "config.json");
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct GoldenCase {
  const char* fixture;
  bool older_config;
};

void PrintTo(const GoldenCase& golden, std::ostream* out) {
  *out << golden.fixture << (golden.older_config ? " with config.v4.json" : "");
}

class ModelGoldenTest : public testing::TestWithParam<GoldenCase> {};

TEST_P(ModelGoldenTest, LogitsLogprobsAndGreedyTokensEqualHuggingFace) {
  const fs::path fixture = test::test_data() / "models" / GetParam().fixture;
  const ConfigVariant variant(fixture, GetParam().older_config);
  const auto model = test::ModelHarness::load(variant.path(), {.isa = {}, .threads = 2});
  const Json golden = parse_json(test::read_text(fixture / "golden.json"), "golden.json").value();
  const double tolerance = 2e-3 * golden.find("logit_std")->as_double();
  const std::vector<float> last = golden_tensor(fixture, "last_logits");
  const std::vector<float> greedy_last = golden_tensor(fixture, "greedy_last_logits");
  const auto vocab = static_cast<std::size_t>(model->vocab_size());
  std::int64_t compared_greedy = 0;

  const JsonArray& prompts = golden.find("prompts")->as_array();
  ASSERT_EQ(prompts.size(), 5U);
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const std::vector<TokenId> ids = to_ids(*prompts[p].find("ids"));
    std::vector<std::vector<float>> rows = model->step({{.sequence = 0, .start = 0, .ids = ids}});
    for (std::size_t v = 0; v < vocab; ++v) {
      ASSERT_NEAR(rows.back()[v], last[p * vocab + v], tolerance) << "prompt " << p << " id " << v;
    }
    const JsonArray& next = prompts[p].find("next_logprobs")->as_array();
    ASSERT_EQ(next.size() + 1, ids.size());
    for (std::size_t i = 0; i < next.size(); ++i) {
      ASSERT_NEAR(logprob(rows[i], ids[i + 1]), next[i].as_double(), tolerance)
          << "prompt " << p << " token " << i;
    }
    // Greedy decoding along the golden tokens, compared where the margin makes the choice certain.
    const std::vector<TokenId> greedy = to_ids(*prompts[p].find("greedy_ids"));
    const JsonArray& margins = prompts[p].find("greedy_margins")->as_array();
    std::vector<float> logits = rows.back();
    for (std::size_t step = 0; step < greedy.size(); ++step) {
      if (margins[step].as_double() > 0.05) {
        ASSERT_EQ(argmax(logits), greedy[step]) << "prompt " << p << " step " << step;
        ++compared_greedy;
      }
      if (step + 1 == greedy.size()) {
        break;
      }
      const auto start = static_cast<std::int64_t>(ids.size() + step);
      logits = model->step({{.sequence = 0, .start = start, .ids = {greedy[step]}}}).back();
    }
    for (std::size_t v = 0; v < vocab; ++v) {
      ASSERT_NEAR(logits[v], greedy_last[p * vocab + v], tolerance) << "after decoding " << p;
    }
  }
  EXPECT_GT(compared_greedy, 20);
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, ModelGoldenTest,
    testing::Values(GoldenCase{"llama_tied", false}, GoldenCase{"llama_tied", true},
                    GoldenCase{"llama_rope3", false}, GoldenCase{"llama_rope3", true},
                    GoldenCase{"tiny-dense", false}, GoldenCase{"tiny-dense", true},
                    GoldenCase{"qwen2", false}, GoldenCase{"qwen2", true},
                    GoldenCase{"qwen2_headdim0", false}, GoldenCase{"qwen2_headdim0", true},
                    GoldenCase{"qwen3", false}, GoldenCase{"qwen3", true}));

/// GPT-2 and its heirs.
INSTANTIATE_TEST_SUITE_P(GptFixtures, ModelGoldenTest,
                         testing::Values(GoldenCase{"gpt2", false}, GoldenCase{"gpt2", true},
                                         GoldenCase{"opt", false}, GoldenCase{"opt", true},
                                         GoldenCase{"falcon", false}, GoldenCase{"falcon", true},
                                         GoldenCase{"falcon_new", false},
                                         GoldenCase{"falcon_new", true},
                                         GoldenCase{"gpt_neox", false},
                                         GoldenCase{"gpt_neox", true}, GoldenCase{"gptj", false},
                                         GoldenCase{"gptj", true}, GoldenCase{"nemotron", false},
                                         GoldenCase{"nemotron", true}));

}  // namespace
}  // namespace godwit
