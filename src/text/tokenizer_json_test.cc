// What from_json refuses, and what added tokens and templates do, on small tokenizers written here.

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/fixtures.h"
#include "text/tokenizer.h"

namespace godwit {
namespace {

constexpr std::string_view kSmall = R"({
  "added_tokens": [{"id": 4, "content": "<s>", "special": true, "normalized": false}],
  "normalizer": null,
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
  "post_processor": {"type": "ByteLevel"},
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3}, "merges": ["a b"]}
})";

Json parse(std::string_view text) {
  Result<Json> json = parse_json(text, "test");
  CHECK(json.ok());
  return std::move(json).value();
}

/// The small tokenizer with one member of an object replaced; `path` is dotted.
Json with(std::string_view path, std::string_view value) {
  Json root = parse(kSmall);
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) {
    root.set(path, parse(value));
  } else {
    Json inner = *root.find(path.substr(0, dot));
    inner.set(path.substr(dot + 1), parse(value));
    root.set(path.substr(0, dot), inner);
  }
  return root;
}

std::string error_of(const Json& json) {
  const Result<Tokenizer> tokenizer = Tokenizer::from_json(json, nullptr);
  return tokenizer.ok() ? "no error" : tokenizer.status().message();
}

Tokenizer make(const Json& json) {
  Result<Tokenizer> tokenizer = Tokenizer::from_json(json, nullptr);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return std::move(tokenizer).value();
}

struct BadField {
  std::string_view path;
  std::string_view value;
  std::string_view named;  ///< What the error must contain.
};

TEST(TokenizerJson, NamesTheBadField) {
  const std::vector<BadField> cases = {
      {"model", "[]", "model must be an object"},
      {"model", "null", "model must be an object"},
      {"model.type", R"("Runes")", "model.type 'Runes' is not supported"},
      {"model.type", "7", "model.type must be a string"},
      {"model.vocab", R"({"a": -1})", "model.vocab['a'] is -1"},
      {"model.vocab", R"({"a": 99999999999})", "model.vocab['a'] is 99999999999"},
      {"model.vocab", R"({"a": 1e30})", "model.vocab['a'] must be a token id"},
      {"model.vocab", R"({"a": "0"})", "model.vocab['a'] must be a token id"},
      {"model.vocab", R"({"a": 0, "b": 0})", "model.vocab gives the id 0 to 'b'"},
      {"model.vocab", R"(["a", "b"])", "model.vocab must be an object"},
      {"model.merges", R"(["a c"])", "model.merges[0] needs the token 'c'"},
      {"model.merges", R"(["a b", "b a"])", "model.merges[1] needs the token 'ba'"},
      {"model.merges", R"(["ab"])", "model.merges[0] must be two tokens"},
      {"model.merges", R"(["a b a"])", "model.merges[0] must be two tokens"},
      {"model.merges", R"([["a", "b", "a"]])", "model.merges[0] must be two tokens"},
      {"model.merges", R"([["a", 1]])", "model.merges[0] must be two tokens"},
      {"model.merges", R"({"a": 1})", "model.merges must be an array"},
      {"model.unk_token", R"("zzz")", "model.unk_token is no token"},
      {"model.dropout", "0.1", "model.dropout (random merges) is not supported"},
      {"model.byte_fallback", "3", "model.byte_fallback must be a boolean"},
      {"model", R"({"type": "Unigram", "vocab": {"a": 0}})", "model.vocab must be an array"},
      {"model", R"({"type": "Unigram", "vocab": [["a"]]})", "model.vocab[0] must be a token and"},
      {"model", R"({"type": "Unigram", "vocab": [["a", 0], ["a", 1]]})", "model.vocab[1] repeats"},
      {"model", R"({"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1})", "model.unk_id is no"},
      {"model", R"({"type": "Unigram", "vocab": [["a", 0]]})", "model.unk_id must be a token id"},
      {"model", R"({"type": "WordPiece", "vocab": {"a": 0}})", "model.unk_token is no token"},
      {"model", R"({"type": "WordPiece", "vocab": {"[UNK]": 0}, "max_input_chars_per_word": -1})",
       "model.max_input_chars_per_word must be a number"},
      {"model.fuse_unk", "1", "model.fuse_unk must be a boolean"},
      {"normalizer", R"({"type": "Runes"})", "normalizer.type 'Runes' is not supported"},
      {"normalizer", R"({"type": "Sequence"})", "normalizer.normalizers must be an array"},
      {"normalizer", R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, 3]})",
       "normalizer.normalizers[1].type must be a string"},
      {"normalizer", R"({"type": "Replace", "pattern": {}, "content": ""})",
       "normalizer.pattern must have either"},
      {"pre_tokenizer", R"({"type": "Runes"})", "pre_tokenizer.type 'Runes' is not supported"},
      {"pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "a("}})",
       "pre_tokenizer.pattern"},
      {"pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "(a)\\1"}})",
       "pre_tokenizer.pattern"},
      {"pre_tokenizer", R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Odd"})",
       "pre_tokenizer.behavior 'Odd' is not supported"},
      {"post_processor", R"({"type": "Runes"})", "post_processor.type 'Runes' is not supported"},
      {"post_processor", R"({"type": "RobertaProcessing", "cls": ["a", -4], "sep": ["b", 1]})",
       "post_processor.cls[1] is -4"},
      {"post_processor",
       R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "C", "type_id": 0}}]})",
       "post_processor.single[0].Sequence.id is 'C'"},
      {"post_processor",
       R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}]})",
       "post_processor.special_tokens.x.ids must be an array"},
      {"normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "?"})", "is no base64"},
      {"normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "AAAA"})",
       "normalizer.precompiled_charsmap: the normalisation rules"},
      {"normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "/////w=="})",
       "too few for a trie"},
      {"pre_tokenizer", R"({"type": "Metaspace", "replacement": ""})", "replacement is empty"},
      {"pre_tokenizer", R"({"type": "Metaspace", "prepend_scheme": "odd"})",
       "pre_tokenizer.prepend_scheme 'odd' is not supported"},
      {"decoder", R"({"type": "Strip", "content": "", "start": 1, "stop": 0})",
       "decoder.content is empty"},
      {"decoder", R"({"type": "Strip", "start": -1, "stop": 0})", "decoder.start is -1"},
      {"decoder", R"({"type": "Runes"})", "decoder.type 'Runes' is not supported"},
      {"added_tokens", R"([{"content": "<s>"}])", "added_tokens[0].id must be a token id"},
      {"added_tokens", R"([{"id": -2, "content": "<s>"}])", "added_tokens[0].id is -2"},
      {"added_tokens", R"([{"id": 4000000000, "content": "<s>"}])", "added_tokens[0].id is"},
      {"added_tokens", R"([{"id": 5}])", "added_tokens[0].content must be a string"},
      {"added_tokens", R"([{"id": 5, "content": ""}])", "added token 5 is empty"},
      {"added_tokens", R"([{"id": 0, "content": "<s>"}])", "added_tokens[0] gives '<s>' the id 0"},
      {"added_tokens", R"([{"id": 9, "content": "ab"}])", "added_tokens[0] gives 'ab' the id 9"},
      {"added_tokens", R"([{"id": 5, "content": "x"}, {"id": 5, "content": "y"}])",
       "two added tokens have the id 5"},
      {"added_tokens", R"([{"id": 5, "content": "x"}, {"id": 6, "content": "x"}])",
       "added token 'x' is listed twice"},
  };
  for (const BadField& bad : cases) {
    const std::string error = error_of(with(bad.path, bad.value));
    EXPECT_NE(error.find(bad.named), std::string::npos) << error << "\nexpected " << bad.named;
    EXPECT_NE(error.find("tokenizer.json"), std::string::npos) << error;
  }
  EXPECT_NE(error_of(parse("[]")).find("the root must be an object"), std::string::npos);
}

TEST(TokenizerJson, AllowsGapsBetweenIds) {
  const Tokenizer tokenizer =
      make(with("added_tokens", R"([{"id": 9, "content": "<x>", "special": true}])"));
  EXPECT_EQ(tokenizer.vocab_size(), 10);
  EXPECT_EQ(tokenizer.encode("ab<x> "), (std::vector<TokenId>{2, 9, 3}));
  EXPECT_EQ(tokenizer.id_to_token(7), std::nullopt);
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{-1, 2, 7, 9, 3, 10, 0x7FFFFFFF}, false),
            "ab<x> ");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{2, 9, 3}, true), "ab ");
  EXPECT_TRUE(tokenizer.is_special(9));
  EXPECT_FALSE(tokenizer.is_special(2));
  EXPECT_FALSE(tokenizer.is_special(-1));
  EXPECT_EQ(tokenizer.token_bytes(3), " ");
  EXPECT_EQ(tokenizer.token_bytes(7), "");
  EXPECT_EQ(tokenizer.token_to_id("<x>"), 9);
  EXPECT_EQ(tokenizer.token_to_id("zz"), std::nullopt);
}

TEST(TokenizerJson, ReadsBeginningAndEndFromTheConfig) {
  const Json json = parse(kSmall);
  const Json config = parse(R"({"bos_token": {"content": "<s>"}, "eos_token": "ab"})");
  const Result<Tokenizer> tokenizer = Tokenizer::from_json(json, &config);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->bos_id(), 4);
  EXPECT_EQ(tokenizer->eos_id(), 2);
  const Json bad = parse(R"({"bos_token": 3})");
  EXPECT_NE(Tokenizer::from_json(json, &bad).status().message().find("bos_token must be a string"),
            std::string::npos);
}

TEST(TokenizerJson, EncodesHostileTextInTime) {
  const Tokenizer tokenizer = make(parse(kSmall));
  EXPECT_EQ(tokenizer.encode(std::string(1'000'000, 'a')).size(), 1'000'000U);
  std::string alternating;
  for (int i = 0; i < 500'000; ++i) {
    alternating += "ab";
  }
  EXPECT_EQ(tokenizer.encode(alternating), std::vector<TokenId>(500'000, 2));
  EXPECT_EQ(tokenizer.encode(std::string(1'000'000, ' ')).size(), 1'000'000U);
  EXPECT_EQ(tokenizer.encode(std::string(1'000'000, '\xFF')).size(), 0U);
}

// One word of a megabyte, and words of 10,000 characters, through each kind of model.
TEST(TokenizerJson, EncodesLongWordsOfEachKindInTime) {
  const auto read = [](const std::string& name) {
    return make(
        parse(test::read_text(test::test_data() / "tokenizers" / name / "tokenizer.json.gz")));
  };
  const std::string word(1'000'000, 'a');
  std::string mixed;
  for (int i = 0; i < 50; ++i) {
    mixed += std::string(5'000, static_cast<char>('a' + i % 26)) + std::string(5'000, '.') + ' ';
  }
  for (const std::string name : {"gpt2", "llama2", "mistral-v0.3", "t5-small"}) {
    const Tokenizer tokenizer = read(name);
    for (const std::string& text : {word, mixed}) {
      const std::vector<TokenId> ids = tokenizer.encode(text, {.add_special_tokens = false});
      std::string decoded = tokenizer.decode(ids, false);
      decoded += decoded.size() < text.size() ? " " : "";  // t5 drops the space at the end
      EXPECT_EQ(decoded, text) << name;
    }
  }
  const Tokenizer bert = read("bert-base-uncased");
  EXPECT_EQ(bert.encode(word), (std::vector<TokenId>{101, 100, 102}));
  EXPECT_EQ(bert.encode(std::string(100, 'a')).size(), 52U);
  EXPECT_EQ(bert.encode(std::string(101, 'a')).size(), 3U);
}

// The trained models' own tokenizer, encoded and rendered by Hugging Face's code.
TEST(TokenizerJson, MatchesTheTrainedModelsRows) {
  const std::filesystem::path folder = test::test_data() / "models";
  const Json golden = parse(test::read_text(folder / "tokenizer_golden.json"));
  const Tokenizer tokenizer = make(parse(test::read_text(folder / "tiny-dense/tokenizer.json")));
  const auto ids_of = [](const Json& row) {
    std::vector<TokenId> ids;
    for (const Json& id : row.find("ids")->as_array()) {
      ids.push_back(static_cast<TokenId>(*id.to_int64()));
    }
    return ids;
  };
  for (const Json& row : golden.find("encode")->as_array()) {
    EXPECT_EQ(tokenizer.encode(row.find("text")->as_string()), ids_of(row)) << to_json(row);
    EXPECT_EQ(tokenizer.decode(ids_of(row), false), row.find("decoded")->as_string());
    EXPECT_EQ(tokenizer.decode(ids_of(row), true), row.find("decoded_skip_special")->as_string());
  }
  for (const Json& row : golden.find("chat")->as_array()) {
    EXPECT_EQ(tokenizer.encode(row.find("text")->as_string(), {.add_special_tokens = false}),
              ids_of(row));
  }
}

}  // namespace
}  // namespace godwit
