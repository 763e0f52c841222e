#pragma once
// A trie over bytes: which of a set of texts begin at a place of another text.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/pair_table.h"

namespace godwit {

/// Immutable once filled. A lookup takes time linear in the longest entry.
class TokenTrie {
 public:
  TokenTrie();
  /// Adds a text with its value (0 or more). Of two equal texts the first counts; an empty one is
  /// left out.
  void add(std::string_view text, std::int32_t value);

  struct Found {
    std::size_t length;
    std::int32_t value;
  };
  [[nodiscard]] std::optional<Found> longest_at(std::string_view text, std::size_t at) const;

  /// The first place from `at` on where an entry could begin, or the end.
  [[nodiscard]] std::size_t next_candidate(std::string_view text, std::size_t at) const {
    if (values_.size() == 1) {
      return text.size();
    }
    while (at < text.size() && !first_bytes_[static_cast<unsigned char>(text[at])]) {
      ++at;
    }
    return at;
  }
  /// Calls `visit(length, value)` for each entry that begins at `at`, shortest first.
  template <class Visit>
  void for_each_at(std::string_view text, std::size_t at, const Visit& visit) const {
    if (!first_bytes_[static_cast<unsigned char>(text[at])]) {
      return;
    }
    std::uint32_t node = 0;
    for (std::size_t i = at; i < text.size(); ++i) {
      const std::uint32_t* const next = edges_.find(node, static_cast<unsigned char>(text[i]));
      if (next == nullptr) {
        return;
      }
      node = *next;
      if (values_[node] >= 0) {
        visit(i + 1 - at, values_[node]);
      }
    }
  }

 private:
  std::array<bool, 256> first_bytes_{};
  PairTable<std::uint32_t> edges_;
  std::vector<std::int32_t> values_;  // per node, -1 for none; node 0 is the root
};

}  // namespace godwit
