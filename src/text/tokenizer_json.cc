// Tokenizer::from_json: the added tokens of tokenizer.json. Its model is read in
// tokenizer_json_models.cc, the stages that are sequences of steps in tokenizer_json_steps.cc.

#include <string>
#include <utility>

#include "text/tokenizer.h"
#include "text/tokenizer_fields.h"
#include "text/tokenizer_json_models.h"
#include "text/tokenizer_json_steps.h"
#include "text/tokenizer_parts.h"

namespace godwit {
namespace {

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
  TokenDecoder decoder = TRY(read_decoder(root["decoder"]));
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
      .decoder = std::move(decoder),
      .bos_id = bos_id,
      .eos_id = eos_id,
  }));
}

}  // namespace godwit
