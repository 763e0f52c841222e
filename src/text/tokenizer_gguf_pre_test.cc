// Split rules of GGUF vocabularies whose original the fixtures lack, against llama.cpp's own
// tokeniser (tools/make_gguf_pre.py).

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/fixtures.h"
#include "text/testing/gguf_conversion.h"
#include "text/tokenizer.h"

namespace godwit {
namespace {

/// A word of the vocabulary that no merges lead to.
constexpr const char* kUnmerged = "zqzqzq";

struct PreVocabulary {
  const char* name;
  std::size_t size;   ///< Without added tokens.
  std::size_t rules;  ///< Names that it is tried with.
};

void PrintTo(const PreVocabulary& vocabulary, std::ostream* out) {
  *out << vocabulary.name;
}

class GgufPreTest : public testing::TestWithParam<PreVocabulary> {
 protected:
  void SetUp() override {
    const std::filesystem::path folder = test::test_data() / "tokenizers";
    golden_ = parse_json(test::read_text(folder / "gguf_pre.json.gz"), "gguf_pre.json",
                         {.max_values = 2'000'000})
                  .value();
    vocabulary_ = test::convert_to_gguf(folder / GetParam().name / "tokenizer.json.gz", "");
    GgufVocabulary& gguf = vocabulary_.vocabulary;
    gguf.tokens.resize(GetParam().size);
    gguf.tokens.emplace_back(kUnmerged);
    gguf.token_types.clear();
    for (const Json& row : test::read_json_lines(folder / "corpus.jsonl.gz")) {
      texts_.push_back(row.find("text")->as_string());
    }
    texts_.emplace_back(kUnmerged);
  }

  Json golden_;
  test::OwnedVocabulary vocabulary_;
  std::vector<std::string> texts_;
};

TEST_P(GgufPreTest, SplitsAsLlamaCppDoes) {
  const Json& golden = *golden_.find(GetParam().name);
  const JsonArray& rows = golden.find("texts")->as_array();
  ASSERT_EQ(rows.size(), texts_.size());
  std::size_t index = 0;
  for (const auto& [rule, facts] : golden.find("rules")->as_object()) {
    vocabulary_.vocabulary.pre = rule;
    vocabulary_.vocabulary.bos_id = 0;
    const Result<Tokenizer> tokenizer = Tokenizer::from_gguf(vocabulary_.vocabulary);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    EXPECT_EQ(tokenizer->encode("a").size(), facts.find("add_bos")->as_bool() ? 2U : 1U) << rule;
    std::size_t compared = 0;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const std::int64_t answer = *rows[i].find("of")->as_array()[index].to_int64();
      if (answer < 0) {
        continue;
      }
      std::vector<TokenId> expected;
      for (const Json& id :
           rows[i].find("ids")->as_array()[static_cast<std::size_t>(answer)].as_array()) {
        expected.push_back(static_cast<TokenId>(*id.to_int64()));
      }
      ASSERT_EQ(tokenizer->encode(texts_[i], {.add_special_tokens = false}), expected)
          << "'" << rule << "': " << to_json(Json(texts_[i]));
      ++compared;
    }
    EXPECT_GT(compared, 800U) << rule;
    ++index;
  }
  EXPECT_EQ(index, GetParam().rules);
}

TEST(GgufUnigramTest, EqualsLlamaCpp) {
  const std::filesystem::path folder = test::test_data() / "tokenizers";
  const Json golden =
      parse_json(test::read_text(folder / "gguf_t5.json.gz"), "gguf_t5.json").value();
  const test::OwnedVocabulary owned =
      test::convert_t5_to_gguf(folder / "t5-small" / "tokenizer.json.gz");
  const Result<Tokenizer> tokenizer = Tokenizer::from_gguf(owned.vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  int compared = 0;
  for (const Json& row : test::read_json_lines(folder / "corpus.jsonl.gz")) {
    std::vector<TokenId> expected;
    for (const Json& id : golden.find(row.find("id")->as_string())->as_array()) {
      expected.push_back(static_cast<TokenId>(*id.to_int64()));
    }
    EXPECT_EQ(tokenizer->encode(row.find("text")->as_string()), expected)
        << row.find("id")->as_string();
    ++compared;
  }
  EXPECT_EQ(compared, 961);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, GgufPreTest,
                         testing::Values(PreVocabulary{"gpt2", 50257, 39},
                                         PreVocabulary{"qwen3", 151643, 10}));

}  // namespace
}  // namespace godwit
