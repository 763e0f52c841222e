#pragma once
// WordPiece: a word is written as the longest token it begins with, then the longest continuing
// token, and so on; a word for which that fails is unknown as a whole.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/token_trie.h"
#include "text/vocabulary.h"

namespace godwit {

struct WordPieceOptions {
  TokenId unknown = 0;
  std::string continuing_prefix = "##";  ///< Marks tokens that begin inside a word.
  std::size_t max_characters = 100;      ///< A longer word is unknown.
};

/// Immutable.
class WordPieceModel {
 public:
  WordPieceModel(Vocabulary vocabulary, WordPieceOptions options);

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  /// As BpeModel's: there are no places to cut.
  [[nodiscard]] static std::size_t next_cut(std::string_view word, std::size_t /*begin*/) {
    return word.size();
  }

  /// Appends the tokens of one word of well-formed text, in time linear in its length times the
  /// longest token.
  void encode(std::string_view word, std::vector<TokenId>& out) const;

 private:
  Vocabulary vocabulary_;
  WordPieceOptions options_;
  TokenTrie beginning_;
  TokenTrie continuing_;  // without the prefix
};

}  // namespace godwit
