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

/// Where the files are.
enum class Place { kTree, kShared };

class OriginalFiles : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    const auto shared = test::shared_fixtures();
    if (GetParam() == Place::kTree) {
      folder_ = test::test_data() / "tokenizers";
    } else if (shared) {
      folder_ = *shared / "tokenizers";
    } else {
      GTEST_SKIP() << "needs ../shared/fixtures";
    }
  }
  [[nodiscard]] Json read_json(const std::string& name) const {
    const Result<Json> json = parse_json(test::read_text(folder_ / name), name);
    CHECK(json.ok());
    return *json;
  }

  std::filesystem::path folder_;
};

TEST_P(OriginalFiles, SentencePiece) {
  for (const std::string name :
       {"llama2", "mistral-v0.3", "spm-unigram-en", "spm-unigram-ja", "spm-nai-t5"}) {
    if (GetParam() == Place::kShared ||
        std::filesystem::exists(folder_ / name / "tokenizer.model.gz")) {
      check_sentencepiece(folder_, name);
    }
  }
}

TEST_P(OriginalFiles, VocabTxt) {
  const bool tree = GetParam() == Place::kTree;
  const std::vector<std::string> names =
      tree ? std::vector<std::string>{"bert-base-uncased"}
           : std::vector<std::string>{"bert-base-uncased", "bert-base-cased"};
  for (const std::string& name : names) {
    const Json config = read_json(name + "/tokenizer_config.json");
    const std::string text =
        test::read_text(folder_ / name / (tree ? "vocab.txt.gz" : "vocab.txt"));
    const Result<Tokenizer> tokenizer = Tokenizer::from_vocab_txt(text, &config);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    test::check_golden(*tokenizer, folder_, name, "golden.jsonl.gz");
  }
}

TEST_P(OriginalFiles, Tiktoken) {
  const Json config = read_json("kimi-k2/tokenizer_config.json");
  const std::string text = test::read_text(folder_ / "kimi-k2/tiktoken.model.gz");
  const Result<Tokenizer> tokenizer = Tokenizer::from_tiktoken(text, &config);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(tokenizer->bos_id(), 163584);
  test::check_golden(*tokenizer, folder_, "kimi-k2", "golden.jsonl.gz");
}

TEST_P(OriginalFiles, Tekken) {
  const Json json = read_json("mistral-nemo-tekken/tekken.json.gz");
  const Result<Tokenizer> tokenizer = Tokenizer::from_tekken(json, nullptr);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  test::check_golden(*tokenizer, folder_, "mistral-nemo-tekken", "golden.jsonl.gz");
}

INSTANTIATE_TEST_SUITE_P(Places, OriginalFiles, testing::Values(Place::kTree, Place::kShared),
                         [](const testing::TestParamInfo<Place>& place) {
                           return place.param == Place::kTree ? "Tree" : "Shared";
                         });

}  // namespace
}  // namespace godwit
