#pragma once
// Translates a tokenizer's regular expression (Oniguruma's syntax, Unicode 16 classes) into one
// over bytes. Code points that no class or literal of the pattern tells apart share one number, so
// that a text becomes one byte per character and every class becomes a 256-bit set: matching takes
// the same time for any script, and PCRE2's own Unicode tables play no part.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace godwit {

/// Numbers code points: ASCII characters by themselves, others by kind from 128.
class CharacterKinds {
 public:
  /// Sets the kind of a range above U+007F.
  void assign(char32_t first, char32_t last, std::uint8_t kind);
  [[nodiscard]] std::uint8_t operator[](char32_t code_point) const {
    return pages_[page_of_[code_point >> kPageBits] * kPageSize + (code_point & (kPageSize - 1))];
  }
  CharacterKinds();

 private:
  static constexpr int kPageBits = 8;
  static constexpr std::size_t kPageSize = std::size_t{1} << kPageBits;

  // Pages of one kind throughout are shared: page k holds kind k for k < 256.
  std::array<std::uint16_t, 0x110000 / kPageSize> page_of_;
  std::vector<std::uint8_t> pages_;
};

struct TranslatedPattern {
  std::string bytes_pattern;  ///< For PCRE2 without UTF mode, with PCRE2_MULTILINE.
  CharacterKinds kinds;
};

/// Errors: kInvalidArgument for a malformed pattern, kUnimplemented for syntax that no known
/// tokenizer uses (back references, \b, POSIX brackets, ...); both name the pattern and the offset.
Result<TranslatedPattern> translate_pattern(std::string_view pattern);

}  // namespace godwit
