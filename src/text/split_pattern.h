#pragma once
// A compiled regular expression of a tokenizer, matched over whole texts.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace godwit {

/// Bytes [begin, end) of a text.
struct ByteRange {
  std::size_t begin;
  std::size_t end;
  bool operator==(const ByteRange&) const = default;
};

/// Immutable after creation; any number of threads may match at once.
class SplitPattern {
 public:
  /// Compiles a regular expression in Oniguruma's syntax.
  /// Errors: those of translate_pattern, and kInvalidArgument with PCRE2's message.
  static Result<SplitPattern> create(std::string_view regex);
  /// Compiles a pattern that matches `text` itself.
  static Result<SplitPattern> create_literal(std::string_view text);

  SplitPattern(SplitPattern&&) noexcept;
  SplitPattern& operator=(SplitPattern&&) noexcept;
  ~SplitPattern();

  /// Finds the matches in well-formed text from left to right, none overlapping. An empty match
  /// right after another match is not one. A text on which the match limits are reached (they allow
  /// time linear in its length) counts as having no further match from there.
  void for_each(std::string_view text, const std::function<void(const ByteRange&)>& visit) const;
  [[nodiscard]] std::vector<ByteRange> find_all(std::string_view text) const;

 private:
  struct Compiled;
  explicit SplitPattern(std::unique_ptr<const Compiled> compiled);

  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace godwit
