#include "text/testing/gguf_conversion.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/json.h"
#include "support/fixtures.h"
#include "text/base64.h"

namespace godwit::test {

OwnedVocabulary convert_to_gguf(const std::filesystem::path& path, const std::string& pre) {
  OwnedVocabulary result;
  const Result<Json> json = parse_json(read_text(path), "tokenizer.json");
  CHECK(json.ok());
  const Json& model = *json->find("model");
  std::vector<std::string> tokens(model.find("vocab")->as_object().size() + 2000);
  std::vector<std::int32_t> types(tokens.size(), 1);
  std::size_t size = 0;
  const auto put = [&](const Json& id, const std::string& token, std::int32_t type) {
    const auto index = static_cast<std::size_t>(*id.to_int64());
    tokens.at(index) = token;
    types.at(index) = type;
    size = std::max(size, index + 1);
  };
  for (const JsonMember& member : model.find("vocab")->as_object()) {
    put(member.second, member.first, 1);
  }
  for (const Json& token : json->find("added_tokens")->as_array()) {
    put(*token.find("id"), token.find("content")->as_string(),
        token.find("special")->as_bool() ? 3 : 4);
  }
  tokens.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    tokens[i] = tokens[i].empty() ? "[PAD" + std::to_string(i) + "]" : tokens[i];
  }
  types.resize(size);
  for (const Json& merge : model.find("merges")->as_array()) {
    tokens.push_back(merge.is_string()
                         ? merge.as_string()
                         : merge.as_array()[0].as_string() + " " + merge.as_array()[1].as_string());
  }
  result.texts = std::move(tokens);
  const auto split = result.texts.begin() + static_cast<std::ptrdiff_t>(size);
  result.vocabulary.tokens.assign(result.texts.begin(), split);
  result.vocabulary.merges.assign(split, result.texts.end());
  result.vocabulary.token_types = std::move(types);
  result.vocabulary.model = "gpt2";
  result.vocabulary.pre = pre;
  return result;
}

OwnedVocabulary convert_t5_to_gguf(const std::filesystem::path& path) {
  const Result<Json> json = parse_json(read_text(path), "tokenizer.json");
  CHECK(json.ok());
  OwnedVocabulary result;
  GgufVocabulary& vocabulary = result.vocabulary;
  for (const Json& piece : json->find("model")->find("vocab")->as_array()) {
    const std::string& text = piece.as_array()[0].as_string();
    if (!text.starts_with("<extra_id")) {
      result.texts.push_back(text);
      vocabulary.scores.push_back(static_cast<float>(piece.as_array()[1].as_double()));
    }
  }
  vocabulary.tokens.assign(result.texts.begin(), result.texts.end());
  vocabulary.token_types.assign(result.texts.size(), 1);
  vocabulary.token_types[0] = 3;
  vocabulary.token_types[1] = 3;
  vocabulary.token_types[2] = 2;
  vocabulary.model = "t5";
  vocabulary.pre = "default";
  vocabulary.padding_id = 0;
  vocabulary.eos_id = 1;
  vocabulary.unknown_id = 2;
  vocabulary.add_space_prefix = true;
  vocabulary.remove_extra_whitespaces = true;
  vocabulary.charsmap =
      *decode_base64(json->find("normalizer")->find("precompiled_charsmap")->as_string());
  return result;
}

}  // namespace godwit::test
