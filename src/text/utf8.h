#pragma once
// UTF-8: reading, writing, and replacing what is ill-formed the way Unicode recommends (one U+FFFD
// per maximal subpart), which is also what Rust's and Python's lossy decoders do.

#include <cstddef>
#include <string>
#include <string_view>

namespace godwit {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;
inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

/// One step through bytes that may be ill-formed.
struct Utf8Step {
  char32_t code_point;  ///< kReplacementCharacter when ill-formed.
  std::size_t length;   ///< Bytes taken: a character, or a maximal ill-formed subpart.
  bool well_formed;
  bool truncated;  ///< Ill-formed only because the bytes end: more bytes could complete it.
};

/// Reads what begins at `at`, which must be inside the text.
Utf8Step decode_utf8(std::string_view bytes, std::size_t at);

/// Counts the bytes of the character that `lead` begins in well-formed UTF-8.
constexpr std::size_t utf8_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

bool is_ascii(std::string_view text);
/// The place of the first byte from `at` on that is not ASCII, or the end.
std::size_t end_of_ascii(std::string_view text, std::size_t at);
bool is_well_formed_utf8(std::string_view text);

/// Appends the bytes with each maximal ill-formed subpart replaced with U+FFFD.
void append_well_formed(std::string& out, std::string_view bytes);

void append_utf8(std::string& out, char32_t code_point);

/// Reads a character of well-formed text and moves `at` past it.
char32_t next_code_point(std::string_view text, std::size_t& at);

}  // namespace godwit
