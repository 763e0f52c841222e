#pragma once
// Byte-pair encoding: a word starts as one token a character, and the pair of neighbours that comes
// first in the list of merges is joined until no pair is in the list.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/byte_tokens.h"
#include "text/pair_table.h"
#include "text/vocabulary.h"

namespace godwit {

struct BpeOptions {
  std::optional<TokenId> unknown;  ///< Stands for a character without token, which is dropped else.
  bool fuse_unknown = false;       ///< One unknown token for a run of such characters.
  bool byte_fallback = false;      ///< Spells such characters with byte tokens where there are any.
  bool ignore_merges = false;      ///< A word that is a token as a whole is that token.
  std::string continuing_prefix;   ///< Goes before each character but a word's first.
  std::string end_of_word_suffix;  ///< Goes after a word's last character.
};

/// Immutable once filled.
class BpeModel {
 public:
  BpeModel(Vocabulary vocabulary, BpeOptions options);

  void reserve_merges(std::size_t count);
  /// Adds a merge; the lowest rank comes first, and of equal ones the leftmost pair. A pair that
  /// was there before gets the new rank.
  void add_merge(TokenId left, TokenId right, TokenId merged, std::uint32_t rank);
  /// Adds, for each token that has a rank (none: kNoRank), the merges of all pairs of tokens that
  /// spell it. `ranks` is by id.
  void add_merges_by_rank(const std::vector<std::uint32_t>& ranks);
  static constexpr std::uint32_t kNoRank = ~std::uint32_t{0};

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  [[nodiscard]] const BpeOptions& options() const { return options_; }

  /// The end of the first part of `word` from `begin` on that can be encoded by itself: where a
  /// space as kMetaspace follows another character, unless some merge goes across such a place.
  [[nodiscard]] std::size_t next_cut(std::string_view word, std::size_t begin) const;
  /// Appends the tokens of one word of well-formed text, in time O(n log n).
  void encode(std::string_view word, std::vector<TokenId>& out) const;

 private:
  struct Merge {
    std::uint32_t rank;
    TokenId merged;
  };

  void first_tokens(std::string_view word, std::vector<TokenId>& tokens) const;
  [[nodiscard]] std::optional<TokenId> character_token(std::string_view word, std::size_t begin,
                                                       std::size_t end) const;
  [[nodiscard]] const Merge* find_merge(TokenId left, TokenId right) const {
    return merges_.find(static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right));
  }
  void merge_short(std::vector<TokenId>& tokens) const;
  void merge_long(std::vector<TokenId>& tokens) const;

  Vocabulary vocabulary_;
  BpeOptions options_;
  PairTable<Merge> merges_;
  ByteTokens byte_tokens_;
  bool cuts_at_spaces_ = false;
  /// The tokens of single characters below U+0200, -1 for none: the whole byte-level alphabet.
  std::array<TokenId, 0x200> character_tokens_;
};

}  // namespace godwit
