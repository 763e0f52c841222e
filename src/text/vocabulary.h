#pragma once
// The tokens of a model: text to id and id to text. Ids may have gaps.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace godwit {

/// One more than the largest id that a vocabulary may have; ten times the largest known one. It
/// bounds the tables that a hostile file can ask for.
inline constexpr std::int64_t kMaxVocabularySize = std::int64_t{1} << 22;

/// All texts lie in one string and the hash table holds ids alone, so that a vocabulary of 200,000
/// tokens is built with a handful of allocations.
class Vocabulary {
 public:
  enum class Added { kYes, kDuplicateId, kDuplicateToken };

  void reserve(std::size_t count, std::size_t total_bytes);
  /// Adds a token; the id must lie in [0, kMaxVocabularySize).
  Added add(std::string_view token, TokenId id);

  [[nodiscard]] std::optional<TokenId> find(std::string_view token) const;
  /// The token's text, or nothing where there is a gap or the end.
  [[nodiscard]] std::optional<std::string_view> token(TokenId id) const;
  /// One more than the largest id.
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }

 private:
  struct Text {
    std::size_t begin = 0;
    std::uint32_t length = 0;
    bool present = false;
  };
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = -1;
  };

  [[nodiscard]] std::string_view view(const Text& text) const {
    return std::string_view(texts_).substr(text.begin, text.length);
  }
  [[nodiscard]] std::size_t slot_of(std::string_view token, std::uint32_t hash) const;
  void grow(std::size_t count);

  std::string texts_;
  std::vector<Text> tokens_;
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace godwit
