// Tokenizer::from_sentencepiece, and the pipeline behind it in tokenizer.json's terms: normalise as
// the sentencepiece library does, take the whole text as one piece, decode likewise.

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "text/sentencepiece_model.h"
#include "text/tokenizer_config.h"
#include "text/tokenizer_parts.h"
#include "text/utf8.h"

namespace godwit {
namespace {

using Type = SentencePieceType;

Status bad_piece(std::size_t id, std::string_view what) {
  return invalid_argument("the vocabulary's piece " + std::to_string(id) + " " + std::string(what),
                          "check that the file is complete and unchanged");
}

Result<Vocabulary> make_vocabulary(const std::vector<SentencePiece>& pieces) {
  Vocabulary vocabulary;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string_view text = pieces[i].text;
    if (text.empty() || !is_well_formed_utf8(text)) {
      return bad_piece(i, text.empty() ? "is empty" : "is no UTF-8");
    }
    if (!std::isfinite(pieces[i].score)) {
      return bad_piece(i, "has a score that is no finite number");
    }
    if (vocabulary.add(text, static_cast<TokenId>(i)) != Vocabulary::Added::kYes) {
      return bad_piece(i, "repeats '" + std::string(text) + "'");
    }
  }
  return vocabulary;
}

/// The first piece of a type, which is the only one for kUnknown.
std::optional<TokenId> find_type(const std::vector<SentencePiece>& pieces, Type type) {
  const auto found = std::find_if(pieces.begin(), pieces.end(),
                                  [&](const SentencePiece& piece) { return piece.type == type; });
  return found == pieces.end() ? std::nullopt
                               : std::optional(static_cast<TokenId>(found - pieces.begin()));
}

/// Pieces of one score have one rank; the highest score comes first.
std::vector<std::uint32_t> ranks_of(const std::vector<SentencePiece>& pieces) {
  std::vector<float> scores;
  for (const SentencePiece& piece : pieces) {
    if (piece.type == Type::kNormal) {
      scores.push_back(piece.score);
    }
  }
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<std::uint32_t> ranks(pieces.size(), BpeModel::kNoRank);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].type == Type::kNormal) {
      const auto place =
          std::lower_bound(scores.begin(), scores.end(), pieces[i].score, std::greater<>());
      ranks[i] = static_cast<std::uint32_t>(place - scores.begin());
    }
  }
  return ranks;
}

TokenModel make_model(const SentencePieceModel& source, Vocabulary vocabulary, TokenId unknown) {
  if (!source.unigram) {
    BpeOptions options;
    options.unknown = unknown;
    options.fuse_unknown = true;
    options.byte_fallback = source.byte_fallback;
    BpeModel model(std::move(vocabulary), std::move(options));
    model.add_merges_by_rank(ranks_of(source.pieces));
    return model;
  }
  std::vector<UnigramPiece> pieces;
  float lowest = 0;
  for (std::size_t i = 0; i < source.pieces.size(); ++i) {
    if (source.pieces[i].type == Type::kNormal) {
      const float score = source.pieces[i].score;
      lowest = pieces.empty() ? score : std::min(lowest, score);
      pieces.push_back({static_cast<TokenId>(i), score});
    }
  }
  const UnigramOptions options{unknown, source.byte_fallback, source.single_precision};
  return UnigramModel(std::move(vocabulary), pieces,
                      static_cast<float>(lowest - kUnigramUnknownPenalty), options);
}

/// Control pieces are looked for in the text as given, user-defined ones in the normalised text.
std::vector<AddedToken> added_pieces(const std::vector<SentencePiece>& pieces) {
  std::vector<AddedToken> tokens;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Type type = pieces[i].type;
    if (type == Type::kControl || type == Type::kUnknown || type == Type::kUserDefined) {
      AddedToken token;
      token.id = static_cast<TokenId>(i);
      token.content = pieces[i].text;
      token.special = type != Type::kUserDefined;
      token.normalized = !token.special;
      tokens.push_back(std::move(token));
    }
  }
  return tokens;
}

Result<Normalizer> make_normalizer(const SentencePieceModel& model) {
  SentencePieceStep step{};
  if (!model.charsmap.empty()) {
    step.rules = TRY(Charsmap::create(model.charsmap));
  }
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    if (model.pieces[i].type == Type::kUserDefined) {
      step.kept.add(model.pieces[i].text, static_cast<std::int32_t>(i));
    }
  }
  step.add_dummy_prefix = model.add_dummy_prefix;
  step.remove_extra_whitespaces = model.remove_extra_whitespaces;
  step.escape_whitespaces = model.escape_whitespaces;
  step.space_as_suffix = model.space_as_suffix;
  std::vector<NormalizerStep> steps;
  steps.emplace_back(std::move(step));
  return Normalizer(std::move(steps));
}

}  // namespace

Result<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceModel& model,
                                               const Json* config) {
  const std::optional<TokenId> unknown = find_type(model.pieces, Type::kUnknown);
  if (!unknown) {
    return invalid_argument("the vocabulary has no unknown piece",
                            "check that the file is complete and unchanged");
  }
  Vocabulary vocabulary = TRY(make_vocabulary(model.pieces));
  Normalizer normalizer = TRY(make_normalizer(model));
  std::vector<AddedToken> listed = TRY(config_added_tokens(config));
  AddedTokens added_tokens = TRY(AddedTokens::create(
      merge_added_tokens(added_pieces(model.pieces), std::move(listed)), Normalizer()));
  const auto bos = TRY(named_token(config, "bos_token", vocabulary, added_tokens));
  const auto eos = TRY(named_token(config, "eos_token", vocabulary, added_tokens));
  const std::optional<TokenId> bos_id = bos ? bos : model.bos_id;
  const std::optional<TokenId> eos_id = eos ? eos : model.eos_id;
  const bool add_bos = TRY(config_switch(config, "add_bos_token")).value_or(model.add_bos);
  const bool add_eos = TRY(config_switch(config, "add_eos_token")).value_or(model.add_eos);
  TokenDecoder decoder(SentencePieceDecoder{model.add_dummy_prefix, model.remove_extra_whitespaces,
                                            std::string(*vocabulary.token(*unknown)),
                                            std::string(model.unknown_text)});
  return Tokenizer(std::make_unique<const TokenizerParts>(TokenizerParts{
      .added_tokens = std::move(added_tokens),
      .normalizer = std::move(normalizer),
      .pre_tokenizer = PreTokenizer(),
      .model = make_model(model, std::move(vocabulary), *unknown),
      .post_processor = surround(add_bos ? bos_id : std::nullopt, add_eos ? eos_id : std::nullopt),
      .decoder = std::move(decoder),
      .bos_id = bos_id,
      .eos_id = eos_id,
  }));
}

Result<Tokenizer> Tokenizer::from_sentencepiece(std::string_view bytes, const Json* config) {
  const SentencePieceModel model = TRY(parse_sentencepiece(bytes));
  Result<Tokenizer> tokenizer = make_sentencepiece_tokenizer(model, config);
  if (!tokenizer.ok() && !tokenizer.status().cause().starts_with("tokenizer")) {
    return Status(tokenizer.status().code(),
                  "tokenizer.model: " + std::string(tokenizer.status().cause()),
                  std::string(tokenizer.status().remedy()));
  }
  return tokenizer;
}

}  // namespace godwit
