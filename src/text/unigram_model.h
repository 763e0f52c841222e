#pragma once
// Unigram: of all ways to write a text as pieces, the one with the highest sum of scores.

#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/byte_tokens.h"
#include "text/token_trie.h"
#include "text/vocabulary.h"

namespace godwit {

struct UnigramOptions {
  TokenId unknown = 0;         ///< Stands for characters that no piece has.
  bool byte_fallback = false;  ///< Spells such characters with byte tokens where there are any.
  /// Keeps sums in single precision, as the sentencepiece library does; rounding decides ties.
  bool single_precision = false;
};

/// How far the score of a character without piece lies below the lowest score of a piece.
inline constexpr double kUnigramUnknownPenalty = 10;

/// A piece that can be found in a text.
struct UnigramPiece {
  TokenId id;
  double score;
};

/// Immutable.
class UnigramModel {
 public:
  /// `pieces` are tokens of the vocabulary; others never come of a text. `unknown_score` is the
  /// score of a character without piece.
  UnigramModel(Vocabulary vocabulary, const std::vector<UnigramPiece>& pieces, double unknown_score,
               UnigramOptions options);

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  /// As BpeModel's: there are no places to cut.
  [[nodiscard]] static std::size_t next_cut(std::string_view word, std::size_t /*begin*/) {
    return word.size();
  }

  /// Appends the tokens of well-formed text, in time linear in its length times the longest piece.
  void encode(std::string_view text, std::vector<TokenId>& out) const;

 private:
  Vocabulary vocabulary_;
  UnigramOptions options_;
  std::vector<double> scores_;  // by id
  double unknown_score_;
  TokenTrie trie_;
  ByteTokens byte_tokens_;
};

}  // namespace godwit
