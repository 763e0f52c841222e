#include "runner/testing/llama_cpp.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "runner/testing/golden.h"
#include "support/fixtures.h"

namespace godwit::test {

void expect_llama_cpp(ModelHarness& model, const std::filesystem::path& recorded,
                      const std::string& file, double tolerance) {
  const Json json = parse_json(read_text(recorded), recorded.string()).value();
  std::int64_t compared = 0;
  double largest = 0.0;
  for (const Json& answer : json.find("files")->find(file)->find("answers")->as_array()) {
    std::vector<TokenId> ids = to_ids(*answer.find("ids"));
    const std::size_t start = ids.size() - 1;
    const std::vector<TokenId> chosen = to_ids(*answer.find("greedy_ids"));
    const JsonArray& margins = answer.find("greedy_margins")->as_array();
    ids.insert(ids.end(), chosen.begin(), chosen.end());
    const auto rows = model.step({{.sequence = 0, .start = 0, .ids = ids}});
    for (std::size_t step = 0; step < chosen.size(); ++step) {
      if (margins[step].as_double() > 0.05) {
        EXPECT_EQ(argmax(rows[start + step]), chosen[step]) << "step " << step;
        ++compared;
      }
    }
    const JsonArray& next = answer.find("next_logprobs")->as_array();
    ASSERT_EQ(next.size() + 1, ids.size());
    for (std::size_t i = 0; i < next.size(); ++i) {
      const double error = logprob(rows[i], ids[i + 1]) - next[i].as_double();
      ASSERT_NEAR(error, 0.0, tolerance) << "token " << i;
      largest = std::max(largest, std::abs(error));
    }
  }
  testing::Test::RecordProperty("logprob_error", std::to_string(largest));
  EXPECT_GT(compared, 20);
}

}  // namespace godwit::test
