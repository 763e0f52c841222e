// Which file of a folder is read, and what the readers of the original forms refuse.

#include "text/tokenizer_files.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "support/fixtures.h"

namespace godwit {
namespace {

class TokenizerFiles : public testing::Test {
 protected:
  TokenizerFiles()
      : folder_(std::filesystem::temp_directory_path() /
                ("godwit_tokenizer_files_" +
                 std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~TokenizerFiles() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, std::string_view content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  [[nodiscard]] std::string error_of(const std::string& name, std::string_view content) const {
    write(name, content);
    const Result<Tokenizer> tokenizer = load_tokenizer(folder_ / name);
    return tokenizer.ok() ? "no error" : tokenizer.status().message();
  }

  std::filesystem::path folder_;
};

std::string fixture(const std::string& name) {
  return test::read_text(test::test_data() / "tokenizers" / name);
}

TEST_F(TokenizerFiles, ReadsEachKindAndTheRichestFirst) {
  const auto size = [&] {
    const Result<Tokenizer> tokenizer = load_tokenizer(folder_);
    return tokenizer.ok() ? tokenizer->vocab_size() : -1;
  };
  EXPECT_EQ(size(), -1);
  write("vocab.txt", fixture("bert-base-uncased/vocab.txt.gz"));
  EXPECT_EQ(size(), 30522);
  write("tiktoken.model", fixture("kimi-k2/tiktoken.model.gz"));
  EXPECT_EQ(size(), 163840);
  write("tokenizer.model", fixture("spm-unigram-en/tokenizer.model.gz"));
  EXPECT_EQ(size(), 1000);
  write("tokenizer.model", fixture("kimi-k2/tiktoken.model.gz"));
  EXPECT_EQ(size(), 163840);
  write("tekken.json", fixture("mistral-nemo-tekken/tekken.json.gz"));
  EXPECT_EQ(size(), 131072);
  write("tokenizer.json", fixture("llama2/tokenizer.json.gz"));
  EXPECT_EQ(size(), 32000);
}

TEST_F(TokenizerFiles, SaysWhatWasLookedFor) {
  const std::string error = load_tokenizer(folder_).status().message();
  for (const char* const name :
       {"tokenizer.json", "tekken.json", "tokenizer.model", "tiktoken.model", "vocab.txt"}) {
    EXPECT_NE(error.find(name), std::string::npos) << error;
  }
}

TEST_F(TokenizerFiles, AddsWhatTheConfigAdds) {
  write("tokenizer.model", fixture("llama2/tokenizer.model.gz"));
  write("tokenizer_config.json",
        R"({"add_bos_token": false, "add_eos_token": true, "eos_token": "<|end|>",
            "added_tokens_decoder": {"32007": {"content": "<|end|>", "special": true,
                                               "rstrip": true}}})");
  const Result<Tokenizer> tokenizer = load_tokenizer(folder_);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(tokenizer->vocab_size(), 32008);
  EXPECT_EQ(tokenizer->eos_id(), 32007);
  EXPECT_EQ(tokenizer->bos_id(), 1);
  EXPECT_EQ(tokenizer->encode("Hello<|end|>  "), (std::vector<TokenId>{15043, 32007, 32007}));
}

TEST_F(TokenizerFiles, RefusesWhatIsBroken) {
  const struct {
    const char* file;
    std::string content;
    const char* named;
  } cases[] = {
      {"tokenizer.model", "", "tokenizer.model: there are no pieces"},
      {"tokenizer.model", "\x0A\xFF", "tokenizer.model: the bytes are no protocol buffer message"},
      {"tokenizer.model",
       "\x0A\x05\x0A\x03"
       "abc",
       "no unknown piece"},
      {"tokenizer.model",
       "\x0A\x07\x0A\x03"
       "abc\x18\x09",
       "a piece has the type 9"},
      {"tokenizer.model",
       "\x0A\x07\x0A\x03"
       "abc\x18\x02\x0A\x05\x0A\x03"
       "abc",
       "repeats 'abc'"},
      {"tokenizer.model",
       "\x0A\x07\x0A\x03"
       "abc\x18\x02\x0A\x03\x0A\x01\xFF",
       "is no UTF-8"},
      {"tokenizer.model",
       "\x0A\x07\x0A\x03"
       "abc\x18\x02\x12\x02\x18\x04",
       "not supported"},
      {"tokenizer.model",
       "\x0A\x07\x0A\x03"
       "abc\x18\x02\x1A\x03\x12\x01"
       "x",
       "charsmap"},
      {"tiktoken.model", "IQ== 0\n", "of 1 ranks, for which no split rule is known"},
      {"tiktoken.model", "IQ== 0\nIg== x\n", "line 2 has the rank -1"},
      {"tiktoken.model", "IQ== 0\nIg== 0\n", "line 2 repeats a token or a rank"},
      {"tiktoken.model", "IQ== 0\n?? 1\n", "line 2 has no token in base64"},
      {"tiktoken.model", "IQ== 0\nIg== 99999999\n", "line 2 has the rank 99999999"},
      {"tekken.json", R"({"vocab": []})", "tekken.json: config must be an object"},
      {"tekken.json",
       R"({"vocab": [{"rank": -1}], "config": {"pattern": "a", "default_vocab_size": 9,
           "default_num_special_tokens": 2}})",
       "tekken.json: vocab[0].rank is -1"},
      {"tekken.json",
       R"({"vocab": [], "config": {"pattern": "a(", "default_vocab_size": 9,
           "default_num_special_tokens": 2}})",
       "tekken.json: a group is not closed"},
      {"tekken.json",
       R"({"vocab": [], "special_tokens": [{"rank": 2, "token_str": "x"}],
           "config": {"pattern": "a", "default_vocab_size": 9, "default_num_special_tokens": 2}})",
       "tekken.json: special_tokens[0].rank is 2"},
      {"tekken.json",
       R"({"vocab": [], "config": {"pattern": "a", "default_vocab_size": 999999,
           "default_num_special_tokens": 999998}})",
       "tekken.json: config.default_num_special_tokens is 999998"},
      {"vocab.txt", "a\nb\na\n", "vocab.txt: line 3 repeats 'a'"},
      {"vocab.txt", "a\n\xFF\n", "vocab.txt: line 2 is no UTF-8"},
      {"vocab.txt", "[UNK]\n[CLS]\n", "[SEP] is missing"},
  };
  for (const auto& bad : cases) {
    const std::string error = error_of(bad.file, bad.content);
    EXPECT_NE(error.find(bad.named), std::string::npos) << error << "\nexpected " << bad.named;
  }
}

}  // namespace
}  // namespace godwit
