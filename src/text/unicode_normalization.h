#pragma once
// Unicode's normal forms, lower case and graphemes, as Hugging Face's tokenizers have them.

#include <cstddef>
#include <string>
#include <string_view>

namespace godwit {

/// NFD, or NFKD when `compatibility` is set; NFC and NFKC when `composed` is. Takes and returns
/// well-formed text.
std::string normalize_unicode(std::string_view text, bool compatibility, bool composed);

/// Lower-cases each character by itself, without the context rules of whole words.
std::string lower_case(std::string_view text);

/// Counts the bytes of the extended grapheme cluster that begins at `at` of well-formed text.
std::size_t grapheme_length(std::string_view text, std::size_t at);

}  // namespace godwit
