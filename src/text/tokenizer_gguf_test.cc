// Vocabularies of GGUF files against ids made by Hugging Face's tokenizers: llama.cpp's vocabulary
// files, and for the split rules that have no such file the vocabulary of a tokenizer.json.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/fixtures.h"
#include "text/testing/gguf_conversion.h"
#include "text/tokenizer.h"

namespace godwit {
namespace {

/// Walks the metadata of a GGUF file that is known to be sound.
class MetadataReader {
 public:
  explicit MetadataReader(std::string_view file) : file_(file) {}

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, file_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string_view string() {
    const auto size = number<std::uint64_t>();
    at_ += size;
    return file_.substr(at_ - size, size);
  }
  void skip(std::size_t bytes) { at_ += bytes; }

 private:
  std::string_view file_;
  std::size_t at_ = 0;
};

constexpr std::uint32_t kTypeString = 8;
constexpr std::uint32_t kTypeArray = 9;

std::size_t width_of(std::uint32_t type) {
  constexpr std::size_t kWidths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kWidths[type];
}

void read_value(MetadataReader& reader, std::string_view key, GgufVocabulary& out) {
  const auto type = reader.number<std::uint32_t>();
  if (type == kTypeString) {
    const std::string_view value = reader.string();
    if (key == "tokenizer.ggml.model") {
      out.model = value;
    } else if (key == "tokenizer.ggml.pre") {
      out.pre = value;
    }
    return;
  }
  if (type != kTypeArray) {
    if (key == "tokenizer.ggml.bos_token_id") {
      out.bos_id = reader.number<std::uint32_t>();
    } else if (key == "tokenizer.ggml.eos_token_id") {
      out.eos_id = reader.number<std::uint32_t>();
    } else if (key == "tokenizer.ggml.unknown_token_id") {
      out.unknown_id = reader.number<std::uint32_t>();
    } else if (key == "tokenizer.ggml.cls_token_id") {
      out.cls_id = reader.number<std::uint32_t>();
    } else if (key == "tokenizer.ggml.seperator_token_id") {
      out.separator_id = reader.number<std::uint32_t>();
    } else if (key == "tokenizer.ggml.add_bos_token") {
      out.add_bos = reader.number<std::uint8_t>() != 0;
    } else {
      reader.skip(width_of(type));
    }
    return;
  }
  const auto element = reader.number<std::uint32_t>();
  const auto count = reader.number<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    if (element == kTypeString) {
      const std::string_view value = reader.string();
      if (key == "tokenizer.ggml.tokens") {
        out.tokens.push_back(value);
      } else if (key == "tokenizer.ggml.merges") {
        out.merges.push_back(value);
      }
    } else if (key == "tokenizer.ggml.scores") {
      out.scores.push_back(reader.number<float>());
    } else if (key == "tokenizer.ggml.token_type") {
      out.token_types.push_back(reader.number<std::int32_t>());
    } else {
      reader.skip(width_of(element));
    }
  }
}

test::OwnedVocabulary read_gguf(const std::filesystem::path& path) {
  test::OwnedVocabulary result;
  result.file = test::read_text(path);
  MetadataReader reader(result.file);
  reader.skip(8);  // magic and version
  reader.skip(8);  // number of tensors
  const auto count = reader.number<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view key = reader.string();
    read_value(reader, key, result.vocabulary);
  }
  return result;
}

std::vector<std::string> split_on(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find(separator, begin)) != std::string::npos;) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// Runs llama.cpp's 47 strings.
void check_vectors(const Tokenizer& tokenizer, const std::filesystem::path& folder,
                   const std::string& name) {
  const std::vector<std::string> texts =
      split_on(test::read_text(folder / "tests.inp"), "\n__ggml_vocab_test__\n");
  std::vector<std::string> lines =
      split_on(test::read_text(folder / ("ggml-vocab-" + name + ".out")), "\n");
  while (lines.size() > texts.size()) {
    lines.pop_back();
  }
  ASSERT_EQ(texts.size(), lines.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::string ids;
    for (const TokenId id : tokenizer.encode(texts[i], {.add_special_tokens = false})) {
      ids += " " + std::to_string(id);
    }
    while (lines[i].ends_with(' ')) {
      lines[i].pop_back();
    }
    EXPECT_EQ(ids, lines[i]) << "'" << texts[i] << "'";
  }
}

/// Runs the `enc` rows of a tokenizer's golden file.
void check_golden(const Tokenizer& tokenizer, const std::filesystem::path& tokenizers,
                  const std::string& name) {
  std::vector<std::pair<std::string, std::string>> corpus;
  for (const Json& row : test::read_json_lines(tokenizers / "corpus.jsonl.gz")) {
    corpus.emplace_back(row.find("id")->as_string(), row.find("text")->as_string());
  }
  std::size_t at = 0;
  for (const Json& row : test::read_json_lines(tokenizers / name / "golden.jsonl.gz")) {
    if (row.find("k")->as_string() != "enc") {
      continue;
    }
    while (corpus.at(at).first != row.find("id")->as_string()) {
      ++at;
    }
    std::vector<TokenId> expected;
    for (const Json& id : row.find("ids")->as_array()) {
      expected.push_back(static_cast<TokenId>(*id.to_int64()));
    }
    const std::vector<TokenId> ids =
        tokenizer.encode(corpus[at].second, {.add_special_tokens = false});
    EXPECT_EQ(ids, expected) << corpus[at].first;
    EXPECT_EQ(tokenizer.decode(ids, false), row.find("dec")->as_string());
  }
}

class GgufVocabularyFile : public testing::TestWithParam<std::string> {};

TEST_P(GgufVocabularyFile, MatchesHuggingFace) {
  const auto shared = test::shared_fixtures();
  if (!shared) {
    GTEST_SKIP() << "needs ../shared/fixtures";
  }
  const std::filesystem::path folder = *shared / "tokenizers" / "_ggml_vocab";
  const test::OwnedVocabulary owned = read_gguf(folder / ("ggml-vocab-" + GetParam() + ".gguf.gz"));
  const Result<Tokenizer> tokenizer = Tokenizer::from_gguf(owned.vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  check_vectors(*tokenizer, folder, GetParam());
  EXPECT_EQ(tokenizer->bos_id(), owned.vocabulary.bos_id);
  EXPECT_EQ(tokenizer->eos_id(), owned.vocabulary.eos_id);
}

INSTANTIATE_TEST_SUITE_P(Files, GgufVocabularyFile,
                         testing::Values("gpt-2", "starcoder", "deepseek-coder", "llama-spm",
                                         "bert-bge"));

/// A value of tokenizer.ggml.pre, the tokenizer it belongs to, and llama.cpp's vectors if any.
struct PreCase {
  std::string pre;
  std::string tokenizer;
  std::string vectors;
};

class GgufPre : public testing::TestWithParam<PreCase> {};

TEST_P(GgufPre, MatchesTokenizerJson) {
  const auto shared = test::shared_fixtures();
  if (!shared) {
    GTEST_SKIP() << "needs ../shared/fixtures";
  }
  const std::filesystem::path folder = *shared / "tokenizers";
  const test::OwnedVocabulary owned =
      test::convert_to_gguf(folder / GetParam().tokenizer / "tokenizer.json.gz", GetParam().pre);
  const Result<Tokenizer> tokenizer = Tokenizer::from_gguf(owned.vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  check_golden(*tokenizer, folder, GetParam().tokenizer);
  if (!GetParam().vectors.empty()) {
    check_vectors(*tokenizer, folder / "_ggml_vocab", GetParam().vectors);
  }
}

std::string pre_name(const testing::TestParamInfo<PreCase>& info) {
  std::string name = info.param.pre;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, GgufPre,
    testing::Values(PreCase{"gpt-2", "gpt2", "gpt-2"}, PreCase{"phi-2", "phi-2", ""},
                    PreCase{"starcoder", "starcoder", "starcoder"},
                    PreCase{"smollm", "starcoder", "starcoder"},
                    PreCase{"falcon", "falcon", "falcon"},
                    PreCase{"llama-bpe", "llama3.1", "llama-bpe"},
                    PreCase{"qwen2", "qwen3", "qwen2"}, PreCase{"gpt-4o", "gpt-oss", ""},
                    PreCase{"tekken", "mistral-nemo-tekken", ""},
                    PreCase{"deepseek-coder", "deepseek-coder", "deepseek-coder"},
                    PreCase{"deepseek-v3", "deepseek-v3", ""}),
    pre_name);

// The whole corpus through llama.cpp's Llama 2 vocabulary: Hugging Face's ids for the same model.
TEST(GgufSentencePiece, MatchesTheTokenizerJsonOfTheModel) {
  const auto shared = test::shared_fixtures();
  if (!shared) {
    GTEST_SKIP() << "needs ../shared/fixtures";
  }
  const test::OwnedVocabulary owned =
      read_gguf(*shared / "tokenizers/_ggml_vocab/ggml-vocab-llama-spm.gguf.gz");
  const Result<Tokenizer> tokenizer = Tokenizer::from_gguf(owned.vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  check_golden(*tokenizer, *shared / "tokenizers", "llama2");
  EXPECT_EQ(tokenizer->encode("a"), (std::vector<TokenId>{1, 263}));
}

TEST(GgufBert, MatchesTheTokenizerJsonOfTheModel) {
  const auto shared = test::shared_fixtures();
  if (!shared) {
    GTEST_SKIP() << "needs ../shared/fixtures";
  }
  const test::OwnedVocabulary owned =
      read_gguf(*shared / "tokenizers/_ggml_vocab/ggml-vocab-bert-bge.gguf.gz");
  const Result<Tokenizer> tokenizer = Tokenizer::from_gguf(owned.vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  check_golden(*tokenizer, *shared / "tokenizers", "bert-base-uncased");
}

// llama.cpp has no vocabulary file for these; what a run of digits becomes tells the rule.
TEST(GgufPreOfDigits, SplitsThemAsTheModelDoes) {
  const auto shared = test::shared_fixtures();
  if (!shared) {
    GTEST_SKIP() << "needs ../shared/fixtures";
  }
  const std::filesystem::path folder = *shared / "tokenizers" / "_ggml_vocab";
  const std::vector<std::string> texts =
      split_on(test::read_text(folder / "tests.inp"), "\n__ggml_vocab_test__\n");
  for (const std::string pre : {"refact", "command-r"}) {
    const test::OwnedVocabulary owned =
        test::convert_to_gguf(*shared / "tokenizers" / "starcoder" / "tokenizer.json.gz", pre);
    const Result<Tokenizer> tokenizer = Tokenizer::from_gguf(owned.vocabulary);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    const std::vector<std::string> lines =
        split_on(test::read_text(folder / ("ggml-vocab-" + pre + ".out")), "\n");
    int compared = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].empty() || texts[i].find_first_not_of('3') != std::string::npos) {
        continue;
      }
      const auto expected = std::count(lines[i].begin(), lines[i].end(), ' ');
      const std::vector<TokenId> ids = tokenizer->encode(texts[i], {.add_special_tokens = false});
      EXPECT_EQ(ids.size(), static_cast<std::size_t>(expected)) << pre << ": " << texts[i];
      ++compared;
    }
    EXPECT_GE(compared, 9);
  }
}

GgufVocabulary small() {
  GgufVocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "gpt-2";
  vocabulary.tokens = {"a", "b", "ab", "<s>"};
  vocabulary.token_types = {1, 1, 1, 3};
  vocabulary.merges = {"a b"};
  return vocabulary;
}

std::string error_of(const GgufVocabulary& vocabulary) {
  const Result<Tokenizer> tokenizer = Tokenizer::from_gguf(vocabulary);
  return tokenizer.ok() ? "no error" : tokenizer.status().message();
}

TEST(GgufVocabulary, AddsBeginningAndEnd) {
  GgufVocabulary vocabulary = small();
  vocabulary.bos_id = 3;
  vocabulary.eos_id = 3;
  vocabulary.add_bos = true;
  vocabulary.add_eos = true;
  const Result<Tokenizer> tokenizer = Tokenizer::from_gguf(vocabulary);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->encode("aba"), (std::vector<TokenId>{3, 2, 0, 3}));
  EXPECT_EQ(tokenizer->encode("<s>b", {.add_special_tokens = false}), (std::vector<TokenId>{3, 1}));
  EXPECT_EQ(tokenizer->encode_pair("a", "b").ids, (std::vector<TokenId>{3, 0, 3, 3, 1, 3}));
}

TEST(GgufVocabulary, NamesWhatIsWrong) {
  GgufVocabulary vocabulary = small();
  vocabulary.model = "runes";
  EXPECT_NE(error_of(vocabulary).find("tokenizer.ggml.model 'runes'"), std::string::npos);
  vocabulary.model = "llama";
  EXPECT_NE(error_of(vocabulary).find("tokenizer.ggml.scores has 0 entries"), std::string::npos);
  vocabulary.scores = {0, 0, 0, 0};
  EXPECT_NE(error_of(vocabulary).find("no unknown piece"), std::string::npos);
  vocabulary.model = "bert";
  EXPECT_NE(error_of(vocabulary).find("unknown_token_id is missing"), std::string::npos);
  vocabulary = small();
  vocabulary.pre = "moonstone";
  EXPECT_NE(error_of(vocabulary).find("tokenizer.ggml.pre 'moonstone'"), std::string::npos);
  vocabulary = small();
  vocabulary.tokens[1] = "a";
  EXPECT_NE(error_of(vocabulary).find("tokenizer.ggml.tokens has 'a' twice"), std::string::npos);
  vocabulary = small();
  vocabulary.merges = {"a b", "a c"};
  EXPECT_NE(error_of(vocabulary).find("tokenizer.ggml.merges[1]"), std::string::npos);
  vocabulary = small();
  vocabulary.merges = {""};
  EXPECT_NE(error_of(vocabulary).find("tokenizer.ggml.merges[0]"), std::string::npos);
  vocabulary = small();
  vocabulary.token_types.pop_back();
  EXPECT_NE(error_of(vocabulary).find("tokenizer.ggml.token_type"), std::string::npos);
  vocabulary = small();
  vocabulary.bos_id = 4;
  EXPECT_NE(error_of(vocabulary).find("tokenizer.ggml.bos_token_id is 4"), std::string::npos);
  vocabulary = small();
  vocabulary.add_bos = true;
  EXPECT_NE(error_of(vocabulary).find("tokenizer.ggml.add_bos_token"), std::string::npos);
}

}  // namespace
}  // namespace godwit
