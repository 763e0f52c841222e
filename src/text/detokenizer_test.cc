#include "text/detokenizer.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "text/byte_level.h"

// The rows of `stream` in the golden files (tokenizer_golden_test.cc) are the main test; here is
// what they do not reach.

namespace godwit {
namespace {

/// A tokenizer with one token a byte (id = byte) and the special token 256.
Tokenizer byte_tokenizer() {
  JsonObject vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    std::string token;
    append_byte_level(token, std::string_view(&c, 1));
    vocabulary.emplace_back(token, Json(byte));
  }
  Json model(JsonObject{{"type", "BPE"}, {"vocab", vocabulary}, {"merges", JsonArray()}});
  Json special(JsonObject{{"id", 256}, {"content", "<s>"}, {"special", true}});
  const Json json(JsonObject{{"added_tokens", JsonArray{special}},
                             {"decoder", JsonObject{{"type", "ByteLevel"}}},
                             {"model", model}});
  Result<Tokenizer> tokenizer = Tokenizer::from_json(json, nullptr);
  CHECK(tokenizer.ok());
  return std::move(tokenizer).value();
}

std::vector<std::string> push_all(Detokenizer& detokenizer, std::string_view bytes) {
  std::vector<std::string> texts;
  for (const char c : bytes) {
    texts.push_back(detokenizer.push(static_cast<unsigned char>(c)));
  }
  return texts;
}

TEST(Detokenizer, HoldsBackUnfinishedCharacters) {
  const Tokenizer tokenizer = byte_tokenizer();
  Detokenizer detokenizer(tokenizer, {}, true);
  EXPECT_EQ(push_all(detokenizer, "a\xC3\xA9\xF0\x9F\x98\x80"),
            (std::vector<std::string>{"a", "", "é", "", "", "", "😀"}));
  EXPECT_EQ(detokenizer.flush(), "");
}

TEST(Detokenizer, FlushesWhatIsLeft) {
  const Tokenizer tokenizer = byte_tokenizer();
  Detokenizer detokenizer(tokenizer, {}, true);
  EXPECT_EQ(push_all(detokenizer, "\xF0\x9F"), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(detokenizer.flush(), "\uFFFD");
  EXPECT_EQ(detokenizer.flush(), "");
  EXPECT_EQ(push_all(detokenizer, "b"), (std::vector<std::string>{"b"}));
}

TEST(Detokenizer, SkipsSpecialTokensOrNot) {
  const Tokenizer tokenizer = byte_tokenizer();
  Detokenizer skipping(tokenizer, {}, true);
  EXPECT_EQ(skipping.push(256), "");
  EXPECT_EQ(skipping.push('a'), "a");
  Detokenizer keeping(tokenizer, {}, false);
  EXPECT_EQ(keeping.push(256), "<s>");
  EXPECT_EQ(keeping.push(-5), "");
  EXPECT_EQ(keeping.push(100000), "");
}

TEST(Detokenizer, LeavesTheCutCharacterToThePrompt) {
  const Tokenizer tokenizer = byte_tokenizer();
  const std::vector<TokenId> prompt = {'a', 0xC3};
  Detokenizer detokenizer(tokenizer, prompt, true);
  EXPECT_EQ(push_all(detokenizer, "\xA9z"), (std::vector<std::string>{"", "z"}));
  Detokenizer unfinished(tokenizer, prompt, true);
  EXPECT_EQ(unfinished.flush(), "");
}

TEST(Detokenizer, TakesLinearTimeWhenEverythingIsHeldBack) {
  const Tokenizer tokenizer = byte_tokenizer();
  Detokenizer detokenizer(tokenizer, {}, true);
  constexpr int kCount = 1'000'000;
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(detokenizer.push(0xFF), "");
  }
  EXPECT_EQ(detokenizer.push('a').size(), kCount * 3U + 1);
}

/// Two byte tokens, a word, a token for the space and byte fallback, decoded as Llama's are.
Tokenizer fallback_tokenizer() {
  const Result<Json> json = parse_json(R"({
    "decoder": {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "_"}, "content": " "}, {"type": "ByteFallback"},
        {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": {"type": "BPE", "vocab": {"<0xC3>": 0, "<0xA9>": 1, "_a": 2, "_": 3}, "merges": []}
  })",
                                       "test");
  CHECK(json.ok());
  Result<Tokenizer> tokenizer = Tokenizer::from_json(*json, nullptr);
  CHECK(tokenizer.ok());
  return std::move(tokenizer).value();
}

TEST(Detokenizer, ReadsByteTokensAsAWhole) {
  const Tokenizer tokenizer = fallback_tokenizer();
  Detokenizer detokenizer(tokenizer, {}, true);
  EXPECT_EQ(detokenizer.push(2), "a");
  EXPECT_EQ(detokenizer.push(0), "");
  EXPECT_EQ(detokenizer.push(1), "é");
  EXPECT_EQ(detokenizer.push(3), " ");
  EXPECT_EQ(detokenizer.push(2), " a");
  EXPECT_EQ(detokenizer.push(0), "");
  EXPECT_EQ(detokenizer.flush(), "\uFFFD");
  EXPECT_EQ(detokenizer.flush(), "");
}

TEST(Detokenizer, TakesLinearTimeWhenByteTokensAreHeldBack) {
  const Tokenizer tokenizer = fallback_tokenizer();
  Detokenizer detokenizer(tokenizer, {}, true);
  constexpr int kCount = 1'000'000;
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(detokenizer.push(0), "");
  }
  EXPECT_EQ(detokenizer.push(2).size(), kCount * 3U + 2);
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(detokenizer.push(2), " a");
  }
}

}  // namespace
}  // namespace godwit
