// Hostile vocabularies: nothing but an error may come of them, and whatever is accepted encodes and
// decodes any text. The input is a tokenizer.json, a zero byte, and the text; or, after a first
// byte of 1 to 4, the size of a file in two bytes, the file (tokenizer.model, tekken.json,
// tiktoken.model or vocab.txt) and the text. Without a zero byte the text is the input itself, run
// through a fixed tokenizer whose round trip must be exact.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/status.h"
#include "text/byte_level.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace {

using godwit::Json;
using godwit::JsonArray;
using godwit::JsonObject;
using godwit::TokenId;
using godwit::Tokenizer;

/// Every byte, a few merges and a special token behind Llama 3's split rule.
Tokenizer fixed_tokenizer() {
  JsonObject vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    std::string token;
    godwit::append_byte_level(token, std::string_view(&c, 1));
    vocabulary.emplace_back(token, Json(byte));
  }
  JsonArray merges;
  int next = 256;
  for (const std::string_view merge : {"a b", "ab a", "b a", "a a", "aa aa", "ab ab"}) {
    std::string merged(merge);
    merged.erase(merged.find(' '), 1);
    vocabulary.emplace_back(merged, Json(next++));
    merges.emplace_back(merge);
  }
  const Json pattern(JsonObject{
      {"Regex",
       R"((?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"}});
  const Json split(JsonObject{{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}});
  const Json byte_level(
      JsonObject{{"type", "ByteLevel"}, {"use_regex", false}, {"add_prefix_space", false}});
  const Json sequence(
      JsonObject{{"type", "Sequence"}, {"pretokenizers", JsonArray{split, byte_level}}});
  const Json special(JsonObject{{"id", 1000}, {"content", "<s>"}, {"special", true}});
  const Json json(JsonObject{
      {"added_tokens", JsonArray{special}},
      {"pre_tokenizer", sequence},
      {"decoder", JsonObject{{"type", "ByteLevel"}}},
      {"model", JsonObject{{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}});
  auto tokenizer = Tokenizer::from_json(json, nullptr);
  CHECK(tokenizer.ok());
  return std::move(tokenizer).value();
}

/// Encodes and decodes in every way; returns the decoded text.
std::string run(const Tokenizer& tokenizer, std::string_view text, bool split_special) {
  const std::vector<TokenId> ids =
      tokenizer.encode(text, {.add_special_tokens = false, .split_special_tokens = split_special});
  for (const TokenId id : ids) {
    CHECK(id >= 0 && id < tokenizer.vocab_size());
    CHECK(tokenizer.id_to_token(id).has_value());
  }
  const std::string decoded = tokenizer.decode(ids, false);
  CHECK(godwit::is_well_formed_utf8(decoded));
  godwit::Detokenizer detokenizer(tokenizer, {}, false);
  std::string streamed;
  for (const TokenId id : ids) {
    streamed += detokenizer.push(id);
  }
  streamed += detokenizer.flush();
  // Others show what is cut inside a character differently, as the engines they are compared with.
  CHECK(!tokenizer.bytewise() || streamed == decoded);
  CHECK(godwit::is_well_formed_utf8(streamed));
  static_cast<void>(tokenizer.encode_pair(text, text));
  return decoded;
}

/// Reads a file of one of the original forms.
godwit::Result<Tokenizer> read_original(std::uint8_t kind, std::string_view file) {
  switch (kind) {
    case 1:
      return Tokenizer::from_sentencepiece(file, nullptr);
    case 2: {
      const godwit::Json json = TRY(godwit::parse_json(file, "fuzz"));
      return Tokenizer::from_tekken(json, &json);
    }
    case 3:
      return Tokenizer::from_tiktoken(file, nullptr);
    default:
      return Tokenizer::from_vocab_txt(file, nullptr);
  }
}

void run_original(std::string_view input) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(input[i]); };
  const std::size_t size = byte(1) | (std::size_t{byte(2)} << 8);
  const std::string_view rest = input.substr(3);
  const auto tokenizer = read_original(byte(0), rest.substr(0, size));
  if (!tokenizer.ok()) {
    CHECK(!tokenizer.status().message().empty());
    return;
  }
  const std::string_view text = rest.substr(std::min(size, rest.size()));
  static_cast<void>(run(*tokenizer, text, false));
  static_cast<void>(run(*tokenizer, text, true));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (size > 3 && input[0] >= 1 && input[0] <= 4) {
    run_original(input);
    return 0;
  }
  const std::size_t zero = input.find('\0');
  if (zero == std::string_view::npos) {
    static const Tokenizer tokenizer = fixed_tokenizer();
    std::string expected;
    godwit::append_well_formed(expected, input);
    CHECK(run(tokenizer, input, false) == expected);
    CHECK(run(tokenizer, input, true) == expected);
    return 0;
  }
  const auto json = godwit::parse_json(input.substr(0, zero), "fuzz");
  if (!json.ok()) {
    return 0;
  }
  const auto tokenizer = Tokenizer::from_json(*json, &*json);
  if (!tokenizer.ok()) {
    CHECK(!tokenizer.status().message().empty());
    return 0;
  }
  static_cast<void>(run(*tokenizer, input.substr(zero + 1), false));
  return 0;
}
