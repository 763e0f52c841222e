// The original file forms of vocabularies: SentencePiece's tokenizer.model against the
// sentencepiece library, tiktoken's ranks against tiktoken, vocab.txt against Hugging Face's
// tokenizers.

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/fixtures.h"
#include "text/testing/golden_rows.h"
#include "text/tokenizer.h"

namespace godwit {
namespace {

using test::ids_of;
using test::text_of;

/// The rows of golden_spm: every text is plain text to the sentencepiece library.
void check_sentencepiece(const std::filesystem::path& folder, const std::string& name) {
  const std::string bytes = test::read_text(folder / name / "tokenizer.model.gz");
  const Result<Tokenizer> tokenizer = Tokenizer::from_sentencepiece(bytes, nullptr);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const auto corpus = test::read_corpus(folder, test::CorpusBytes::kReplaced);
  test::Score score;
  for (const Json& row : test::read_json_lines(folder / name / "golden_spm.jsonl.gz")) {
    const std::string kind = text_of(row, "k");
    if (kind == "vocab") {
      score.add(kind, test::check_vocab(*tokenizer, row));
      continue;
    }
    const std::vector<TokenId> ids = tokenizer->encode(
        corpus.at(text_of(row, "id")), {.add_special_tokens = false, .split_special_tokens = true});
    score.add(kind,
              test::compare("ids of " + text_of(row, "id"), ids, ids_of(row, "ids")) +
                  test::compare("dec of " + text_of(row, "id"),
                                tokenizer->decode(ids_of(row, "ids"), false), text_of(row, "dec")));
  }
  score.print(name);
}

class SentencePieceFile : public testing::TestWithParam<std::string> {};

TEST_P(SentencePieceFile, EveryRowOfTheFixtures) {
  const auto shared = test::shared_fixtures();
  if (!shared) {
    GTEST_SKIP() << "needs ../shared/fixtures";
  }
  check_sentencepiece(*shared / "tokenizers", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Models, SentencePieceFile,
                         testing::Values("llama2", "mistral-v0.3", "spm-unigram-en",
                                         "spm-unigram-ja", "spm-nai-t5"),
                         test::file_test_name);

TEST(VocabTxt, EveryRowOfTheFixtures) {
  const auto shared = test::shared_fixtures();
  if (!shared) {
    GTEST_SKIP() << "needs ../shared/fixtures";
  }
  for (const std::string name : {"bert-base-uncased", "bert-base-cased"}) {
    const std::filesystem::path folder = *shared / "tokenizers";
    const Result<Json> config = parse_json(test::read_text(folder / name / "tokenizer_config.json"),
                                           "tokenizer_config.json");
    ASSERT_TRUE(config.ok());
    const Result<Tokenizer> tokenizer =
        Tokenizer::from_vocab_txt(test::read_text(folder / name / "vocab.txt"), &*config);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    test::check_golden(*tokenizer, folder, name, "golden.jsonl.gz");
  }
}

TEST(Tiktoken, EveryRowOfTheFixtures) {
  const auto shared = test::shared_fixtures();
  if (!shared) {
    GTEST_SKIP() << "needs ../shared/fixtures";
  }
  const std::filesystem::path folder = *shared / "tokenizers" / "kimi-k2";
  const Result<Json> config = parse_json(test::read_text(folder / "tokenizer_config.json"),
                                         "tokenizer_config.json", {.allow_non_finite = true});
  ASSERT_TRUE(config.ok());
  const Result<Tokenizer> tokenizer =
      Tokenizer::from_tiktoken(test::read_text(folder / "tiktoken.model.gz"), &*config);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  test::check_golden(*tokenizer, *shared / "tokenizers", "kimi-k2", "golden.jsonl.gz");
}

TEST(Tekken, EveryRowOfTheFixtures) {
  const auto shared = test::shared_fixtures();
  if (!shared) {
    GTEST_SKIP() << "needs ../shared/fixtures";
  }
  const std::filesystem::path folder = *shared / "tokenizers";
  const Result<Json> json =
      parse_json(test::read_text(folder / "mistral-nemo-tekken/tekken.json.gz"), "tekken.json");
  ASSERT_TRUE(json.ok());
  const Result<Tokenizer> tokenizer = Tokenizer::from_tekken(*json, nullptr);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  test::check_golden(*tokenizer, folder, "mistral-nemo-tekken", "golden.jsonl.gz");
}

}  // namespace
}  // namespace godwit
