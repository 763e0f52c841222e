#pragma once
// SentencePiece's compiled normalisation rules: a double-array trie (as the Darts library lays it
// out) from texts to places in a list of replacements.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace godwit {

/// Immutable.
class Charsmap {
 public:
  /// Reads the bytes of a charsmap: the trie's size in bytes (32 bits, little-endian), the trie,
  /// and the replacements, each ended by a zero byte. Errors: kInvalidArgument.
  static Result<Charsmap> create(std::string_view bytes);

  struct Match {
    std::size_t length;  ///< Of the text that is replaced.
    std::string_view replacement;
  };
  /// The rule for the longest beginning of `text` that has one.
  [[nodiscard]] std::optional<Match> longest(std::string_view text) const;
  /// The rule for the shortest one.
  [[nodiscard]] std::optional<Match> shortest(std::string_view text) const;

 private:
  [[nodiscard]] std::optional<Match> find(std::string_view text, bool first) const;
  [[nodiscard]] std::string_view replacement_at(std::size_t offset) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace godwit
