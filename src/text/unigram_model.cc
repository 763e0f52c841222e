#include "text/unigram_model.h"

#include <algorithm>

#include "text/utf8.h"

namespace godwit {

UnigramModel::UnigramModel(Vocabulary vocabulary, const std::vector<UnigramPiece>& pieces,
                           double unknown_score, UnigramOptions options)
    : vocabulary_(std::move(vocabulary)), options_(options), unknown_score_(unknown_score) {
  scores_.resize(static_cast<std::size_t>(vocabulary_.size()));
  for (const UnigramPiece& piece : pieces) {
    trie_.add(*vocabulary_.token(piece.id), piece.id);
    scores_[static_cast<std::size_t>(piece.id)] = piece.score;
  }
  if (options_.byte_fallback) {
    byte_tokens_ = ByteTokens(vocabulary_);
  }
}

void UnigramModel::encode(std::string_view text, std::vector<TokenId>& out) const {
  // The best way to write the text up to each place: its score, its last piece, and where that
  // piece begins.
  struct Best {
    double score = 0;
    std::size_t begin = 0;
    TokenId id = -1;
  };
  std::vector<Best> best(text.size() + 1);
  const auto offer = [&](std::size_t begin, std::size_t length, TokenId id, double score) {
    Best& target = best[begin + length];
    const double exact = score + best[begin].score;
    const double sum = options_.single_precision ? static_cast<float>(exact) : exact;
    if (target.id < 0 || sum > target.score) {
      target = {sum, begin, id};
    }
  };
  for (std::size_t at = 0; at < text.size(); at += utf8_length(text[at])) {
    const std::size_t character = utf8_length(text[at]);
    bool has_character = false;
    trie_.for_each_at(text, at, [&](std::size_t length, std::int32_t id) {
      offer(at, length, id, scores_[static_cast<std::size_t>(id)]);
      has_character = has_character || length == character;
    });
    if (!has_character) {
      offer(at, character, options_.unknown, unknown_score_);
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> pieces;  // begin and end, last first
  bool last_unknown = false;
  for (std::size_t end = text.size(); end > 0; end = best[end].begin) {
    const bool unknown = best[end].id == options_.unknown;
    if (unknown && last_unknown) {
      pieces.back().first = best[end].begin;  // a run of unknown characters is one token
    } else {
      pieces.emplace_back(best[end].begin, end);
    }
    last_unknown = unknown;
  }
  std::for_each(pieces.rbegin(), pieces.rend(), [&](const auto& piece) {
    const std::string_view part = text.substr(piece.first, piece.second - piece.first);
    const TokenId id = best[piece.second].id;
    if (id != options_.unknown) {
      out.push_back(id);
    } else if (!options_.byte_fallback || !byte_tokens_.append(part, out)) {
      out.push_back(options_.unknown);
    }
  });
}

}  // namespace godwit
