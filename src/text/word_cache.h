#pragma once
// The words of one text and their tokens: a text repeats its words, and looking one up again is
// several times as fast as merging its tokens anew.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace godwit {

/// A word whose place another one needs is forgotten, so the memory is bounded by the text's size
/// and by half a MiB. Not for sharing between threads.
class WordCache {
 public:
  /// For a text of so many bytes.
  explicit WordCache(std::size_t text_bytes)
      : slots_(std::bit_ceil(std::clamp(text_bytes / kBytesASlot, std::size_t{1}, kMostSlots))) {}

  /// Appends the tokens of a word: those it had before, or what `encode(word, out)` appends.
  template <class Encode>
  void append(std::string_view word, std::vector<TokenId>& out, const Encode& encode) {
    if (word.size() > kLongestWord) {
      encode(word, out);
      return;
    }
    std::array<char, kLongestWord + 1> text{};
    std::memcpy(text.data(), word.data(), word.size());
    text.back() = static_cast<char>(word.size());  // tells apart words that end in zero bytes
    const auto key = std::bit_cast<Key>(text);
    Slot& slot = slots_[place_of(key)];
    if (slot.count > 0 && slot.key == key) {
      out.insert(out.end(), slot.tokens.begin(), slot.tokens.begin() + slot.count);
      return;
    }
    const std::size_t before = out.size();
    encode(word, out);
    const std::size_t count = out.size() - before;
    if (count > 0 && count <= kMostTokens) {
      slot.key = key;
      slot.count = static_cast<std::uint32_t>(count);
      std::copy(out.end() - static_cast<std::ptrdiff_t>(count), out.end(), slot.tokens.begin());
    }
  }

 private:
  static constexpr std::size_t kLongestWord = 15;
  static constexpr std::size_t kMostTokens = 3;
  static constexpr std::size_t kBytesASlot = 16;
  static constexpr std::size_t kMostSlots = std::size_t{1} << 14;

  using Key = std::array<std::uint64_t, 2>;
  struct Slot {
    Key key{};
    std::uint32_t count = 0;  // of `tokens`; 0 in a free slot
    std::array<TokenId, kMostTokens> tokens;
  };

  [[nodiscard]] std::size_t place_of(const Key& key) const {
    const std::uint64_t mixed = (key[0] ^ std::rotl(key[1], 29)) * 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(mixed >> 40) & (slots_.size() - 1);
  }

  std::vector<Slot> slots_;
};

}  // namespace godwit
