#pragma once
// What BERT's normaliser and white-space splitting ask about characters. The crate behind Hugging
// Face's answers is older than Unicode 16, so the tables were found by asking tokenizers 0.23.2
// about every code point; ids depend on them.

namespace godwit {

/// Unicode's White_Space.
bool is_white_space(char32_t code_point);
/// What clean_text drops: control, format and private characters, and U+FFFD.
bool is_bert_control(char32_t code_point);
/// What strip_accents drops once characters are decomposed.
bool is_bert_accent(char32_t code_point);
/// What is a word by itself: the Chinese characters of BERT's list.
bool is_bert_ideograph(char32_t code_point);

}  // namespace godwit
