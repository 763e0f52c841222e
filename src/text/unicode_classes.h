#pragma once
// The Unicode 16.0 character classes that tokenizers' patterns name, as Hugging Face's regular
// expression engine has them. PCRE2's own tables are of another Unicode version, so patterns never
// use those. The table is generated; code_point_set.h turns an entry into ranges.

#include <span>
#include <string_view>

namespace godwit {

struct UnicodeClass {
  std::string_view name;  ///< "L", "Lu", "Han", ... as in \p{...}; "s", "d" and "w" for \s, \d, \w.
  /// For each range the gap since the end of the one before and its length less one, both in base
  /// 32, least digit first; a digit of the alphabet's second half says that another one follows.
  std::string_view ranges;
};

/// All classes.
std::span<const UnicodeClass> unicode_classes();

/// The digits of UnicodeClass::ranges, of value 0 to 63.
inline constexpr std::string_view kUnicodeClassDigits =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";

}  // namespace godwit
