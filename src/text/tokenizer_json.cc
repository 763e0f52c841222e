// Tokenizer::from_json: the model, the added tokens and the decoder of tokenizer.json. The stages
// that are sequences of steps are read in tokenizer_json_steps.cc.

#include <algorithm>
#include <string>
#include <utility>

#include "text/tokenizer.h"
#include "text/tokenizer_fields.h"
#include "text/tokenizer_json_steps.h"
#include "text/tokenizer_parts.h"

namespace godwit {
namespace {

Result<Vocabulary> read_vocabulary(const TokenizerField& field) {
  const JsonObject& members = *TRY(field.to_object());
  std::size_t total_bytes = 0;
  for (const JsonMember& member : members) {
    total_bytes += member.first.size();
  }
  Vocabulary vocabulary;
  vocabulary.reserve(members.size(), total_bytes);
  for (const JsonMember& member : members) {
    const std::optional<std::int64_t> id = member.second.to_int64();
    if (!id || *id < 0 || *id >= kMaxVocabularySize) {
      const TokenizerField entry{member.second, field.path + "['" + member.first + "']"};
      return entry.to_token_id().status();
    }
    switch (vocabulary.add(member.first, static_cast<TokenId>(*id))) {
      case Vocabulary::Added::kYes:
        break;
      case Vocabulary::Added::kDuplicateId:
        return field.wrong("gives the id " + std::to_string(*id) + " to '" + member.first +
                           "' and to another token");
      case Vocabulary::Added::kDuplicateToken:
        return field.wrong("has the token '" + member.first + "' twice");
    }
  }
  return vocabulary;
}

/// The two halves of a merge: ["a", "b"], or "a b" in older files.
Result<std::pair<std::string_view, std::string_view>> read_halves(const Json& merge,
                                                                  const TokenizerField& field,
                                                                  std::size_t index) {
  if (merge.is_array() && merge.as_array().size() == 2 && merge.as_array()[0].is_string() &&
      merge.as_array()[1].is_string()) {
    return std::pair<std::string_view, std::string_view>(merge.as_array()[0].as_string(),
                                                         merge.as_array()[1].as_string());
  }
  if (merge.is_string()) {
    const std::string_view text = merge.as_string();
    const std::size_t space = text.find(' ');
    if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
      return std::pair(text.substr(0, space), text.substr(space + 1));
    }
  }
  return field.element(index).wrong("must be two tokens");
}

Status read_merges(const TokenizerField& field, BpeModel& model) {
  const JsonArray& merges = *TRY(field.to_array());
  const Vocabulary& vocabulary = model.vocabulary();
  const std::size_t prefix_size = model.options().continuing_prefix.size();
  model.reserve_merges(merges.size());
  std::string merged_text;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto [left_text, right_text] = TRY(read_halves(merges[i], field, i));
    const std::optional<TokenId> left = vocabulary.find(left_text);
    const std::optional<TokenId> right = vocabulary.find(right_text);
    merged_text = left_text;
    merged_text += right_text.substr(std::min(prefix_size, right_text.size()));
    const std::optional<TokenId> merged = vocabulary.find(merged_text);
    if (!left || !right || !merged) {
      const std::string_view missing = !left ? left_text : !right ? right_text : merged_text;
      return field.element(i).wrong("needs the token '" + std::string(missing) +
                                    "', which model.vocab lacks");
    }
    model.add_merge(*left, *right, *merged);
  }
  return {};
}

Result<TokenModel> read_bpe(const TokenizerField& field) {
  const TokenizerField dropout = field["dropout"];
  if (!dropout.absent() && !(dropout.value.is_number() && dropout.value.as_double() == 0)) {
    return dropout.unsupported("(random merges)");
  }
  if (TRY(field["byte_fallback"].to_bool(false))) {
    return field["byte_fallback"].unsupported("true");
  }
  Vocabulary vocabulary = TRY(read_vocabulary(field["vocab"]));
  BpeOptions options;
  const TokenizerField unknown = field["unk_token"];
  if (!unknown.absent()) {
    options.unknown = vocabulary.find(TRY(unknown.to_string()));
    if (!options.unknown) {
      return unknown.wrong("is no token of model.vocab");
    }
  }
  options.fuse_unknown = TRY(field["fuse_unk"].to_bool(false));
  options.ignore_merges = TRY(field["ignore_merges"].to_bool(false));
  options.continuing_prefix = TRY(field["continuing_subword_prefix"].to_string(""));
  options.end_of_word_suffix = TRY(field["end_of_word_suffix"].to_string(""));
  BpeModel model(std::move(vocabulary), std::move(options));
  TRY(read_merges(field["merges"], model));
  return TokenModel(std::move(model));
}

Result<TokenModel> read_model(const TokenizerField& field) {
  TRY(field.to_object());
  const TokenizerField type = field["type"];
  // Files from before the field existed: only BPE has merges.
  if (type.absent() && !field["merges"].absent()) {
    return read_bpe(field);
  }
  const std::string name = TRY(type.to_string());
  if (name == "BPE") {
    return read_bpe(field);
  }
  return type.unsupported("'" + name + "'");
}

Result<std::vector<AddedToken>> read_added_tokens(const TokenizerField& field,
                                                  const Vocabulary& vocabulary) {
  std::vector<AddedToken> tokens;
  if (field.absent()) {
    return tokens;
  }
  const JsonArray& entries = *TRY(field.to_array());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const TokenizerField entry = field.element(i);
    AddedToken token;
    token.id = TRY(entry["id"].to_token_id());
    token.content = TRY(entry["content"].to_string());
    token.special = TRY(entry["special"].to_bool(false));
    token.normalized = TRY(entry["normalized"].to_bool(!token.special));
    token.single_word = TRY(entry["single_word"].to_bool(false));
    token.lstrip = TRY(entry["lstrip"].to_bool(false));
    token.rstrip = TRY(entry["rstrip"].to_bool(false));
    const std::optional<std::string_view> same_id = vocabulary.token(token.id);
    if (same_id && *same_id != token.content) {
      return entry.wrong("gives '" + token.content + "' the id " + std::to_string(token.id) +
                         ", which model.vocab gives to '" + std::string(*same_id) + "'");
    }
    if (!same_id && vocabulary.find(token.content)) {
      return entry.wrong("gives '" + token.content + "' the id " + std::to_string(token.id) +
                         ", and model.vocab another");
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Result<TokenDecoder> read_decoder(const TokenizerField& field) {
  if (field.absent()) {
    return field.unsupported("null (tokens joined with spaces)");
  }
  const std::string type = TRY(field["type"].to_string());
  if (type == "ByteLevel") {
    return TokenDecoder(ByteLevelDecoder());
  }
  return field["type"].unsupported("'" + type + "'");
}

/// The id of a token that tokenizer_config.json names, as a string or as an object with its
/// content.
Result<std::optional<TokenId>> read_named_token(const Json* config, std::string_view key,
                                                const Vocabulary& vocabulary,
                                                const AddedTokens& added_tokens) {
  const Json* value = config != nullptr ? config->find(key) : nullptr;
  if (value != nullptr && value->is_object()) {
    value = value->find("content");
  }
  if (value == nullptr || value->is_null()) {
    return std::optional<TokenId>();
  }
  if (!value->is_string()) {
    return invalid_argument("tokenizer_config.json: " + std::string(key) +
                            " must be a string, and is of type " + std::string(value->kind()));
  }
  const AddedToken* const added = added_tokens.find(std::string_view(value->as_string()));
  return added != nullptr ? std::optional(added->id) : vocabulary.find(value->as_string());
}

}  // namespace

Result<Tokenizer> Tokenizer::from_json(const Json& tokenizer_json, const Json* tokenizer_config) {
  const TokenizerField root{tokenizer_json, ""};
  TRY(root.to_object());
  Normalizer normalizer = TRY(read_normalizer(root["normalizer"]));
  PreTokenizer pre_tokenizer = TRY(read_pre_tokenizer(root["pre_tokenizer"]));
  PostProcessor post_processor = TRY(read_post_processor(root["post_processor"]));
  const TokenDecoder decoder = TRY(read_decoder(root["decoder"]));
  TokenModel model = TRY(read_model(root["model"]));
  const Vocabulary& vocabulary =
      std::visit([](const auto& m) -> const Vocabulary& { return m.vocabulary(); }, model);
  std::vector<AddedToken> listed = TRY(read_added_tokens(root["added_tokens"], vocabulary));
  Result<AddedTokens> added_tokens = AddedTokens::create(std::move(listed), normalizer);
  if (!added_tokens.ok()) {
    return root["added_tokens"].wrong("is bad: " + std::string(added_tokens.status().cause()));
  }
  const std::optional<TokenId> bos_id =
      TRY(read_named_token(tokenizer_config, "bos_token", vocabulary, *added_tokens));
  const std::optional<TokenId> eos_id =
      TRY(read_named_token(tokenizer_config, "eos_token", vocabulary, *added_tokens));
  return Tokenizer(std::make_unique<const TokenizerParts>(TokenizerParts{
      .added_tokens = std::move(added_tokens).value(),
      .normalizer = std::move(normalizer),
      .pre_tokenizer = std::move(pre_tokenizer),
      .model = std::move(model),
      .post_processor = std::move(post_processor),
      .decoder = decoder,
      .bos_id = bos_id,
      .eos_id = eos_id,
  }));
}

}  // namespace godwit
