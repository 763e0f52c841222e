// Every golden row of the tokenizers that have a tokenizer.json, made by Hugging Face's code: over
// ../shared/fixtures where it is there, and over the copies in tests/data.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/fixtures.h"
#include "text/testing/golden_rows.h"
#include "text/tokenizer.h"

namespace godwit {
namespace {

void run(const std::filesystem::path& folder, const std::string& name) {
  const Result<Json> json =
      parse_json(test::read_text(folder / name / "tokenizer.json.gz"), "tokenizer.json");
  ASSERT_TRUE(json.ok()) << json.status().message();
  const Result<Tokenizer> tokenizer = Tokenizer::from_json(*json, nullptr);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  test::check_golden(*tokenizer, folder, name, "golden.jsonl.gz");
}

class SharedTokenizerGolden : public testing::TestWithParam<std::string> {};

TEST_P(SharedTokenizerGolden, EveryRow) {
  const auto shared = test::shared_fixtures();
  if (!shared) {
    GTEST_SKIP() << "needs ../shared/fixtures";
  }
  run(*shared / "tokenizers", GetParam());
}

INSTANTIATE_TEST_SUITE_P(ByteLevel, SharedTokenizerGolden,
                         testing::Values("gpt2", "phi-2", "roberta-base", "starcoder", "falcon",
                                         "deepseek-coder", "deepseek-v3", "llama3.1", "cl100k",
                                         "qwen3", "gpt-oss", "mistral-nemo-tekken", "claude-nfkc",
                                         "clip"),
                         test::file_test_name);
INSTANTIATE_TEST_SUITE_P(ByteFallback, SharedTokenizerGolden,
                         testing::Values("llama2", "mistral-v0.1", "mistral-v0.3", "phi-3-mini",
                                         "gemma3", "chatglm3"),
                         test::file_test_name);
INSTANTIATE_TEST_SUITE_P(Unigram, SharedTokenizerGolden, testing::Values("t5-small", "marian-nmt"),
                         test::file_test_name);
INSTANTIATE_TEST_SUITE_P(WordPiece, SharedTokenizerGolden,
                         testing::Values("bert-base-uncased", "bert-base-cased"),
                         test::file_test_name);

class TreeTokenizerGolden : public testing::TestWithParam<std::string> {};

TEST_P(TreeTokenizerGolden, EveryRow) {
  run(test::test_data() / "tokenizers", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Kinds, TreeTokenizerGolden,
                         testing::Values("gpt2", "starcoder", "falcon", "deepseek-coder", "qwen3",
                                         "llama2", "mistral-v0.3", "chatglm3", "t5-small",
                                         "bert-base-uncased"),
                         test::file_test_name);

}  // namespace
}  // namespace godwit
