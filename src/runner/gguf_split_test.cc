// A GGUF file in several parts, which the gguf package wrote (tools/make_gguf_split.py).

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "runner/testing/file_delta.h"
#include "runner/testing/model_harness.h"
#include "support/fixtures.h"
#include "weights/test_files.h"

namespace godwit {
namespace {

TEST(GgufSplitTest, PartsAnswerAsTheWhole) {
  const auto whole = test::test_data() / "gguf" / "qwen3-q4_0.gguf";
  const std::string original = test::read_text(whole);
  const test::TemporaryFolder folder;
  int parts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::test_data() / "gguf_split")) {
    const std::string name = entry.path().stem().stem().string();
    folder.write(name + ".gguf", test::apply_delta(test::read_text(entry.path()), original));
    ++parts;
  }
  EXPECT_EQ(parts, 3);
  const auto expected = test::ModelHarness::load(whole, {});
  const auto model = test::ModelHarness::load(folder.path() / "qwen3-q4_0-00001-of-00003.gguf", {});
  const test::Chunk chunk = {.sequence = 0, .start = 0, .ids = {1, 17, 42, 256, 99}};
  EXPECT_EQ(model->step({chunk}), expected->step({chunk}));
}

}  // namespace
}  // namespace godwit
