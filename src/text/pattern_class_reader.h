#pragma once
// Reads the parts of a regular expression that match one character: literals, escapes and bracket
// classes, in Oniguruma's syntax. The other half of pattern_translator.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "text/code_point_set.h"

namespace godwit {

/// A cursor over a well-formed UTF-8 pattern.
class PatternClassReader {
 public:
  explicit PatternClassReader(std::string_view pattern) : pattern_(pattern) {}

  [[nodiscard]] bool at_end() const { return at_ == pattern_.size(); }
  [[nodiscard]] char peek() const { return pattern_[at_]; }
  void skip(std::size_t bytes) { at_ += bytes; }
  /// Skips `text` if it comes next.
  bool take(std::string_view text);
  /// Takes {n}, {n,}, {n,m} or {,m}, in PCRE2's form; nothing when the brace is a literal.
  std::optional<std::string> take_interval();
  /// Takes \A, \z or \Z.
  std::optional<std::string> take_anchor();
  /// Takes one literal, escape, '.' or bracket class.
  Result<CodePointSet> take_set();
  /// Adds what matches without regard to case; only for sets within ASCII.
  [[nodiscard]] Result<CodePointSet> without_case(const CodePointSet& set) const;

  [[nodiscard]] Status malformed(std::string_view what) const;
  [[nodiscard]] Status unsupported(std::string_view what) const;

 private:
  /// A member of a class: a set, or one character that a range may begin or end with.
  struct Item {
    CodePointSet set;
    std::optional<char32_t> character;
  };

  Result<Item> take_escape();
  Result<CodePointSet> take_property(bool negated);
  Result<char32_t> take_hexadecimal();
  Result<CodePointSet> take_class(int depth);
  Result<Item> take_class_item(int depth);
  [[nodiscard]] std::string place() const;

  std::string_view pattern_;
  std::size_t at_ = 0;
};

}  // namespace godwit
