// Tokenizer::from_json: the added tokens of tokenizer.json. Its model is read in
// tokenizer_json_models.cc, the stages that are sequences of steps in tokenizer_json_steps.cc.

#include <string>
#include <utility>

#include "text/tokenizer.h"
#include "text/tokenizer_config.h"
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
    const TokenId id = TRY(entry["id"].to_token_id());
    AddedToken token = TRY(read_added_token(entry, id));
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
      TRY(named_token(tokenizer_config, "bos_token", vocabulary, *added_tokens));
  const std::optional<TokenId> eos_id =
      TRY(named_token(tokenizer_config, "eos_token", vocabulary, *added_tokens));
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
