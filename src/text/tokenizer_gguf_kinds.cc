#include "text/tokenizer_gguf_kinds.h"

#include <algorithm>
#include <string>
#include <utility>

#include "text/sentencepiece_model.h"
#include "text/tokenizer_parts.h"
#include "text/utf8.h"

namespace godwit {

Status bad_gguf_field(std::string_view key, std::string_view what) {
  return invalid_argument("GGUF: tokenizer.ggml." + std::string(key) + " " + std::string(what),
                          "check that the file is complete and unchanged");
}

Result<std::optional<TokenId>> checked_gguf_id(const std::optional<std::int64_t>& id,
                                               std::string_view key, const GgufVocabulary& gguf) {
  if (!id) {
    return std::optional<TokenId>();
  }
  if (*id < 0 || *id >= static_cast<std::int64_t>(gguf.tokens.size())) {
    return bad_gguf_field(key, "is " + std::to_string(*id) + ", which is no token");
  }
  return std::optional(static_cast<TokenId>(*id));
}

Status check_gguf_sizes(const GgufVocabulary& gguf) {
  const std::size_t count = gguf.tokens.size();
  if (count == 0 || count > static_cast<std::size_t>(kMaxVocabularySize)) {
    return bad_gguf_field("tokens", "has " + std::to_string(count) + " entries");
  }
  if (!gguf.token_types.empty() && gguf.token_types.size() != count) {
    return bad_gguf_field("token_type", "has " + std::to_string(gguf.token_types.size()) +
                                            " entries for " + std::to_string(count) + " tokens");
  }
  return {};
}

Result<Tokenizer> sentencepiece_from_gguf(const GgufVocabulary& gguf, bool unigram) {
  TRY(check_gguf_sizes(gguf));
  if (gguf.scores.size() != gguf.tokens.size()) {
    return bad_gguf_field("scores", "has " + std::to_string(gguf.scores.size()) + " entries for " +
                                        std::to_string(gguf.tokens.size()) + " tokens");
  }
  SentencePieceModel model;
  for (std::size_t i = 0; i < gguf.tokens.size(); ++i) {
    // The numbers of token_type are SentencePiece's own.
    const std::int32_t type = gguf.token_types.empty() ? 1 : gguf.token_types[i];
    if (type < 1 || type > 6) {
      return bad_gguf_field("token_type", "has the value " + std::to_string(type));
    }
    model.pieces.push_back({gguf.tokens[i], gguf.scores[i], static_cast<SentencePieceType>(type)});
  }
  const auto unknown = TRY(checked_gguf_id(gguf.unknown_id, "unknown_token_id", gguf));
  if (unknown) {
    // Some converters call it a control token.
    model.pieces[static_cast<std::size_t>(*unknown)].type = SentencePieceType::kUnknown;
    model.unknown_text = gguf.tokens[static_cast<std::size_t>(*unknown)];
  }
  model.unigram = unigram;
  model.single_precision = false;  // As llama.cpp; it tells among splits that are equally good.
  model.byte_fallback =
      std::any_of(model.pieces.begin(), model.pieces.end(),
                  [](const SentencePiece& p) { return p.type == SentencePieceType::kByte; });
  model.add_dummy_prefix = gguf.add_space_prefix.value_or(true);
  model.remove_extra_whitespaces = gguf.remove_extra_whitespaces.value_or(false);
  model.charsmap = gguf.charsmap;
  model.bos_id = TRY(checked_gguf_id(gguf.bos_id, "bos_token_id", gguf));
  model.eos_id = TRY(checked_gguf_id(gguf.eos_id, "eos_token_id", gguf));
  model.add_bos = gguf.add_bos.value_or(!unigram && model.bos_id.has_value());
  model.add_eos = gguf.add_eos.value_or(unigram && model.eos_id.has_value());
  if ((model.add_bos && !model.bos_id) || (model.add_eos && !model.eos_id)) {
    return bad_gguf_field(model.add_bos && !model.bos_id ? "add_bos_token" : "add_eos_token",
                          "is set, and the token's id is missing");
  }
  Result<Tokenizer> tokenizer = make_sentencepiece_tokenizer(model, nullptr);
  return tokenizer.ok() ? std::move(tokenizer)
                        : Result<Tokenizer>(bad_gguf_field(
                              "tokens", "is bad: " + std::string(tokenizer.status().cause())));
}

namespace {

/// WordPiece's own spelling of a token: converters mark words that begin, not what continues them.
std::string word_piece_token(std::string_view token) {
  if (token.starts_with(kMetaspace)) {
    return std::string(token.substr(kMetaspace.size()));
  }
  const bool control = token.size() > 2 && token.starts_with('[') && token.ends_with(']');
  return control ? std::string(token) : "##" + std::string(token);
}

}  // namespace

Result<Tokenizer> bert_from_gguf(const GgufVocabulary& gguf) {
  TRY(check_gguf_sizes(gguf));
  Vocabulary vocabulary;
  std::vector<AddedToken> added;
  bool has_upper_case = false;
  for (std::size_t i = 0; i < gguf.tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (!is_well_formed_utf8(gguf.tokens[i])) {
      return bad_gguf_field("tokens", "has an entry that is no UTF-8 at " + std::to_string(i));
    }
    const std::string token = word_piece_token(gguf.tokens[i]);
    if (vocabulary.add(token, id) != Vocabulary::Added::kYes) {
      return bad_gguf_field("tokens", "has '" + token + "' twice");
    }
    const std::int32_t type = gguf.token_types.empty() ? 1 : gguf.token_types[i];
    if (type == static_cast<std::int32_t>(SentencePieceType::kControl) ||
        type == static_cast<std::int32_t>(SentencePieceType::kUnknown)) {
      AddedToken special;
      special.id = id;
      special.content = token;
      special.special = true;
      added.push_back(std::move(special));
    } else if (!token.starts_with('[')) {
      has_upper_case = has_upper_case || std::any_of(token.begin(), token.end(),
                                                     [](char c) { return c >= 'A' && c <= 'Z'; });
    }
  }
  const auto unknown = TRY(checked_gguf_id(gguf.unknown_id, "unknown_token_id", gguf));
  const auto begin =
      TRY(checked_gguf_id(gguf.cls_id ? gguf.cls_id : gguf.bos_id, "cls_token_id", gguf));
  const auto end = TRY(checked_gguf_id(gguf.separator_id ? gguf.separator_id : gguf.eos_id,
                                       "seperator_token_id", gguf));
  if (!unknown || !begin || !end) {
    return bad_gguf_field(!unknown ? "unknown_token_id"
                          : !begin ? "cls_token_id"
                                   : "seperator_token_id",
                          "is missing");
  }
  // The file does not say whether the model tells upper case: its tokens do.
  const BertStep rules{true, true, !has_upper_case, !has_upper_case};
  AddedTokens added_tokens = TRY(AddedTokens::create(std::move(added), Normalizer()));
  TokenizerParts parts =
      bert_parts(std::move(vocabulary), std::move(added_tokens), rules, {*unknown, *begin, *end});
  return Tokenizer(std::make_unique<const TokenizerParts>(std::move(parts)));
}

}  // namespace godwit
