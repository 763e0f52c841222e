#include "runner/testing/hugging_face.h"

#include <cstring>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "runner/testing/golden.h"
#include "support/fixtures.h"
#include "weights/safetensors.h"

namespace godwit::test {
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

}  // namespace

void expect_hugging_face(ModelHarness& model, const fs::path& fixture) {
  const Json golden = parse_json(read_text(fixture / "golden.json"), "golden.json").value();
  const double tolerance = 2e-3 * golden.find("logit_std")->as_double();
  const std::vector<float> last = golden_tensor(fixture, "last_logits");
  const std::vector<float> greedy_last = golden_tensor(fixture, "greedy_last_logits");
  const auto vocab = static_cast<std::size_t>(model.vocab_size());
  std::int64_t compared_greedy = 0;

  const JsonArray& prompts = golden.find("prompts")->as_array();
  ASSERT_EQ(prompts.size(), 5U);
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const std::vector<TokenId> ids = to_ids(*prompts[p].find("ids"));
    std::vector<std::vector<float>> rows = model.step({{.sequence = 0, .start = 0, .ids = ids}});
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
      logits = model.step({{.sequence = 0, .start = start, .ids = {greedy[step]}}}).back();
    }
    for (std::size_t v = 0; v < vocab; ++v) {
      ASSERT_NEAR(logits[v], greedy_last[p * vocab + v], tolerance) << "after decoding " << p;
    }
  }
  EXPECT_GT(compared_greedy, 20);
}

}  // namespace godwit::test
