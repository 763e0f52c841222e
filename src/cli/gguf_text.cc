#include "cli/gguf_text.h"

#include <algorithm>
#include <array>

#include "base/log.h"

namespace godwit {
namespace {

Result<std::optional<std::int64_t>> optional_integer(const GgufFile& file, const char* key) {
  if (!file.contains(key)) {
    return std::optional<std::int64_t>();
  }
  return std::optional(TRY(file.get_integer(key)));
}

Result<std::optional<bool>> optional_bool(const GgufFile& file, const char* key) {
  if (!file.contains(key)) {
    return std::optional<bool>();
  }
  return std::optional(TRY(file.get_bool(key)));
}

}  // namespace

Result<GgufVocabulary> gguf_vocabulary(const GgufFile& file) {
  GgufVocabulary vocabulary;
  vocabulary.model = TRY(file.get_string("tokenizer.ggml.model"));
  if (file.contains("tokenizer.ggml.pre")) {
    vocabulary.pre = TRY(file.get_string("tokenizer.ggml.pre"));
  } else if (vocabulary.model == "gpt2") {
    log::warning(
        "{} has no tokenizer.ggml.pre: texts are split by the rule 'default', as llama.cpp "
        "does, which may not be the model's",
        file.name());
  }
  vocabulary.tokens = TRY(file.get_strings("tokenizer.ggml.tokens"));
  if (file.contains("tokenizer.ggml.token_type")) {
    for (const std::int64_t type : TRY(file.get_integers("tokenizer.ggml.token_type"))) {
      vocabulary.token_types.push_back(static_cast<std::int32_t>(type));
    }
  }
  if (file.contains("tokenizer.ggml.merges")) {
    vocabulary.merges = TRY(file.get_strings("tokenizer.ggml.merges"));
  }
  if (file.contains("tokenizer.ggml.scores")) {
    vocabulary.scores = TRY(file.get_floats("tokenizer.ggml.scores"));
  }
  if (file.contains("tokenizer.ggml.precompiled_charsmap")) {
    for (const std::int64_t byte : TRY(file.get_integers("tokenizer.ggml.precompiled_charsmap"))) {
      vocabulary.charsmap.push_back(static_cast<char>(byte));
    }
  }
  vocabulary.bos_id = TRY(optional_integer(file, "tokenizer.ggml.bos_token_id"));
  vocabulary.eos_id = TRY(optional_integer(file, "tokenizer.ggml.eos_token_id"));
  vocabulary.unknown_id = TRY(optional_integer(file, "tokenizer.ggml.unknown_token_id"));
  vocabulary.padding_id = TRY(optional_integer(file, "tokenizer.ggml.padding_token_id"));
  vocabulary.cls_id = TRY(optional_integer(file, "tokenizer.ggml.cls_token_id"));
  // The converter's own spelling.
  vocabulary.separator_id = TRY(optional_integer(file, "tokenizer.ggml.seperator_token_id"));
  vocabulary.add_bos = TRY(optional_bool(file, "tokenizer.ggml.add_bos_token"));
  vocabulary.add_eos = TRY(optional_bool(file, "tokenizer.ggml.add_eos_token"));
  vocabulary.add_space_prefix = TRY(optional_bool(file, "tokenizer.ggml.add_space_prefix"));
  vocabulary.remove_extra_whitespaces =
      TRY(optional_bool(file, "tokenizer.ggml.remove_extra_whitespaces"));
  return vocabulary;
}

Result<std::optional<std::string>> gguf_chat_template(const GgufFile& file) {
  constexpr const char* kKey = "tokenizer.chat_template";
  if (!file.contains(kKey)) {
    return std::optional<std::string>();
  }
  return std::optional(std::string(TRY(file.get_string(kKey))));
}

SpecialTokens gguf_special_tokens(const GgufFile& file) {
  constexpr std::array<std::pair<const char*, const char*>, 2> kTokens = {{
      {"bos_token", "tokenizer.ggml.bos_token_id"},
      {"eos_token", "tokenizer.ggml.eos_token_id"},
  }};
  SpecialTokens special;
  const auto tokens = file.get_strings("tokenizer.ggml.tokens");
  for (const auto& [name, key] : kTokens) {
    const auto id = file.get_integer(key);
    if (tokens.ok() && id.ok() && *id >= 0 && *id < static_cast<std::int64_t>(tokens->size())) {
      special.emplace_back(name, std::string((*tokens)[static_cast<std::size_t>(*id)]));
    }
  }
  return special;
}

std::vector<TokenId> gguf_eos_ids(const GgufFile& file) {
  std::vector<TokenId> ids;
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
    const auto id = file.get_integer(key);
    if (id.ok() && *id >= 0 && *id < (std::int64_t{1} << 31)) {
      const auto token = static_cast<TokenId>(*id);
      if (std::find(ids.begin(), ids.end(), token) == ids.end()) {
        ids.push_back(token);
      }
    }
  }
  return ids;
}

}  // namespace godwit
