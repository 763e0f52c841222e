#pragma once
// UTF-8 as the sequence of code points that Python's str is: positions, case and classes.
// Ill-formed bytes count as one code point U+FFFD each.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::jinja {

struct CodePoint {
  char32_t value;
  std::size_t size;  ///< In bytes.
};

/// Reads the code point at the start of a text that is not empty.
CodePoint first_code_point(std::string_view text);

void append_utf8(std::string& out, char32_t value);

/// Counts code points.
std::int64_t length_of(std::string_view text);

/// Splits into texts of one code point.
std::vector<std::string_view> split_code_points(std::string_view text);

/// The byte offset of the code point `index`; the size of the text when it has fewer.
std::size_t offset_of(std::string_view text, std::int64_t index);

/// str.isspace() of one code point; also what strip() and split() remove.
bool is_space(char32_t c);
bool is_alpha(char32_t c);
bool is_digit(char32_t c);
bool is_decimal(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
/// Holds for what repr() shows as it is.
bool is_printable(char32_t c);
/// Holds for what ends a line in str.splitlines().
bool is_line_end(char32_t c);
/// Holds for letters, digits and "_", that is \w.
bool is_word(char32_t c);

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
/// First letter of the text in title case, the rest in lower case: str.capitalize().
std::string capitalize(std::string_view text);
/// str.title().
std::string to_title(std::string_view text);
std::string swap_case(std::string_view text);

/// What strip() removes: white space, or the code points of `chars` when there is one.
std::string_view strip_left(std::string_view text, const std::string* chars = nullptr);
std::string_view strip_right(std::string_view text, const std::string* chars = nullptr);

}  // namespace godwit::jinja
