#pragma once
// GPT-2's way to write any byte as a visible character, so that vocabularies are plain text:
// printable Latin-1 bytes stand for themselves, the other 68 become U+0100 and up.

#include <optional>
#include <string>
#include <string_view>

namespace godwit {

/// GPT-2's split rule.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Writes each byte as its character.
void append_byte_level(std::string& out, std::string_view bytes);

/// Reads a token back to bytes; a token with a character that stands for no byte is its own bytes,
/// as added tokens are.
void append_byte_level_decoded(std::string& out, std::string_view token);

/// The end of the characters that stand for bytes.
inline constexpr char32_t kByteLevelEnd = 0x144;

}  // namespace godwit
