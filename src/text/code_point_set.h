#pragma once
// A set of code points as sorted ranges: what a character class of a pattern means.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace godwit {

struct CodePointRange {
  char32_t first;
  char32_t last;  ///< Inclusive.
  bool operator==(const CodePointRange&) const = default;
};

/// A value type; its ranges are sorted, disjoint and not adjacent.
class CodePointSet {
 public:
  static constexpr char32_t kLast = 0x10FFFF;

  CodePointSet() = default;
  CodePointSet(std::initializer_list<CodePointRange> ranges);

  /// Takes ranges that are sorted, disjoint and not adjacent.
  static CodePointSet from_sorted(std::vector<CodePointRange> ranges);

  void add(char32_t first, char32_t last);
  void add(const CodePointSet& other);
  [[nodiscard]] CodePointSet complement() const;
  [[nodiscard]] CodePointSet intersection(const CodePointSet& other) const;
  [[nodiscard]] bool contains(char32_t code_point) const;
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] const std::vector<CodePointRange>& ranges() const { return ranges_; }
  bool operator==(const CodePointSet&) const = default;

 private:
  void normalize();

  std::vector<CodePointRange> ranges_;
};

/// Finds a class of unicode_classes.h by name.
std::optional<CodePointSet> unicode_class(std::string_view name);

}  // namespace godwit
