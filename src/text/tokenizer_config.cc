#include "text/tokenizer_config.h"

#include <charconv>
#include <string>
#include <unordered_set>
#include <utility>

#include "text/tokenizer_fields.h"

namespace godwit {
namespace {

Status wrong(std::string_view key, std::string_view what) {
  return invalid_argument("tokenizer_config.json: " + std::string(key) + " " + std::string(what),
                          "check that the file is complete and unchanged");
}

}  // namespace

Result<std::optional<TokenId>> named_token(const Json* config, std::string_view key,
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
    return wrong(key, "must be a string, and is of type " + std::string(value->kind()));
  }
  const AddedToken* const added = added_tokens.find(std::string_view(value->as_string()));
  return added != nullptr ? std::optional(added->id) : vocabulary.find(value->as_string());
}

Result<std::optional<bool>> config_switch(const Json* config, std::string_view key) {
  const Json* const value = config != nullptr ? config->find(key) : nullptr;
  if (value == nullptr || value->is_null()) {
    return std::optional<bool>();
  }
  if (!value->is_bool()) {
    return wrong(key, "must be a boolean, and is of type " + std::string(value->kind()));
  }
  return std::optional(value->as_bool());
}

Result<AddedToken> read_added_token(const TokenizerField& entry, TokenId id) {
  AddedToken token;
  token.id = id;
  token.content = TRY(entry["content"].to_string());
  token.special = TRY(entry["special"].to_bool(false));
  token.normalized = TRY(entry["normalized"].to_bool(!token.special));
  token.single_word = TRY(entry["single_word"].to_bool(false));
  token.lstrip = TRY(entry["lstrip"].to_bool(false));
  token.rstrip = TRY(entry["rstrip"].to_bool(false));
  return token;
}

Result<std::vector<AddedToken>> config_added_tokens(const Json* config) {
  constexpr std::string_view kKey = "added_tokens_decoder";
  std::vector<AddedToken> tokens;
  const Json* const members = config != nullptr ? config->find(kKey) : nullptr;
  if (members == nullptr || members->is_null()) {
    return tokens;
  }
  if (!members->is_object()) {
    return wrong(kKey, "must be an object, and is of type " + std::string(members->kind()));
  }
  for (const JsonMember& member : members->as_object()) {
    const std::string& key = member.first;
    TokenId id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 ||
        id >= kMaxVocabularySize) {
      return wrong(kKey, "has the key '" + key + "', which is no token id");
    }
    const TokenizerField entry{member.second, std::string(kKey) + "['" + key + "']",
                               "tokenizer_config.json"};
    tokens.push_back(TRY(read_added_token(entry, id)));
  }
  return tokens;
}

std::vector<AddedToken> merge_added_tokens(std::vector<AddedToken> known,
                                           std::vector<AddedToken> listed) {
  std::unordered_set<TokenId> ids;
  for (const AddedToken& token : listed) {
    ids.insert(token.id);
  }
  for (AddedToken& token : known) {
    if (!ids.contains(token.id)) {
      listed.push_back(std::move(token));
    }
  }
  return listed;
}

}  // namespace godwit
