#pragma once
// Where the parts of Hugging Face's tokenizers that are not regular expressions follow other
// Unicode versions than 16: the crates for punctuation and normalisation stayed at older ones, and
// Rust's own tables are newer. Found by asking tokenizers 0.23.2 about every code point; ids depend
// on it.

#include <optional>

#include "text/code_point_set.h"

namespace godwit {

/// What the pre-tokenizer Punctuation splits at.
CodePointSet punctuation_characters();
/// What the pre-tokenizer Digits splits at.
CodePointSet digit_characters();
/// What must not touch an added token that is a single word.
CodePointSet word_characters();
/// Holds for characters that NFC and NFKC treat as if they had no decomposition, combining class or
/// composition.
bool newer_than_normalizer(char32_t code_point);
/// The lower case of letters that utf8proc does not know.
std::optional<char32_t> newer_lower_case(char32_t code_point);

}  // namespace godwit
