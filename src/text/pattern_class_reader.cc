#include "text/pattern_class_reader.h"

#include <string>

#include "text/utf8.h"

namespace godwit {
namespace {

constexpr int kMaxClassDepth = 8;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

int hexadecimal_value(char c) {
  if (is_digit(c)) {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

CodePointSet one(char32_t c) {
  return CodePointSet({{c, c}});
}

}  // namespace

std::string PatternClassReader::place() const {
  return " at byte " + std::to_string(at_) + " of the regular expression '" +
         std::string(pattern_) + "'";
}

Status PatternClassReader::malformed(std::string_view what) const {
  return invalid_argument(std::string(what) + place());
}

Status PatternClassReader::unsupported(std::string_view what) const {
  return unimplemented(std::string(what) + place() + " is not supported");
}

bool PatternClassReader::take(std::string_view text) {
  if (!pattern_.substr(at_).starts_with(text)) {
    return false;
  }
  at_ += text.size();
  return true;
}

std::optional<std::string> PatternClassReader::take_interval() {
  const std::size_t close = pattern_.find('}', at_);
  if (close == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view inside = pattern_.substr(at_ + 1, close - at_ - 1);
  const std::size_t comma = inside.find(',');
  const std::string_view low = inside.substr(0, comma);
  const std::string_view high =
      comma == std::string_view::npos ? std::string_view() : inside.substr(comma + 1);
  for (const std::string_view number : {low, high}) {
    for (const char c : number) {
      if (!is_digit(c)) {
        return std::nullopt;
      }
    }
  }
  if (low.empty() && high.empty()) {
    return std::nullopt;
  }
  at_ = close + 1;
  return "{" + (low.empty() ? "0" + std::string(inside) : std::string(inside)) + "}";
}

std::optional<std::string> PatternClassReader::take_anchor() {
  for (const std::string_view anchor : {"\\A", "\\z", "\\Z"}) {
    if (take(anchor)) {
      return std::string(anchor);
    }
  }
  return std::nullopt;
}

Result<CodePointSet> PatternClassReader::take_set() {
  if (peek() == '\\') {
    return TRY(take_escape()).set;
  }
  if (take("[")) {
    return take_class(0);
  }
  if (take(".")) {
    return one('\n').complement();
  }
  return one(next_code_point(pattern_, at_));
}

Result<PatternClassReader::Item> PatternClassReader::take_escape() {
  skip(1);
  if (at_end()) {
    return malformed("'\\' ends the pattern");
  }
  const char c = peek();
  const auto character = [](char32_t value) { return Item{one(value), value}; };
  switch (c) {
    case 'p':
    case 'P':
      skip(1);
      return Item{TRY(take_property(c == 'P')), std::nullopt};
    case 's':
    case 'd':
    case 'w':
    case 'S':
    case 'D':
    case 'W': {
      skip(1);
      const bool negated = c < 'a';
      const char name = static_cast<char>(c | 0x20);
      CodePointSet set = *unicode_class(std::string_view(&name, 1));
      return Item{negated ? set.complement() : std::move(set), std::nullopt};
    }
    case 'n':
      skip(1);
      return character('\n');
    case 'r':
      skip(1);
      return character('\r');
    case 't':
      skip(1);
      return character('\t');
    case 'f':
      skip(1);
      return character('\f');
    case 'v':
      skip(1);
      return character('\v');
    case 'x':
    case 'u':
      return character(TRY(take_hexadecimal()));
    default:
      break;
  }
  if (is_digit(c) || (hexadecimal_value(c) >= 0) || (c >= 'g' && c <= 'z') ||
      (c >= 'G' && c <= 'Z')) {
    return unsupported("the escape '\\" + std::string(1, c) + "'");
  }
  return character(next_code_point(pattern_, at_));
}

Result<CodePointSet> PatternClassReader::take_property(bool negated) {
  if (!take("{")) {
    return malformed("'\\p' without '{'");
  }
  if (take("^")) {
    negated = !negated;
  }
  const std::size_t close = pattern_.find('}', at_);
  if (close == std::string_view::npos) {
    return malformed("'\\p{' without '}'");
  }
  const std::string_view name = pattern_.substr(at_, close - at_);
  const std::optional<CodePointSet> set = unicode_class(name);
  if (!set) {
    return unsupported("the class '\\p{" + std::string(name) + "}'");
  }
  at_ = close + 1;
  return negated ? set->complement() : *set;
}

Result<char32_t> PatternClassReader::take_hexadecimal() {
  const bool braces = pattern_.substr(at_).starts_with("x{");
  const std::size_t most = braces ? 8 : peek() == 'x' ? 2 : 4;
  skip(braces ? 2 : 1);
  char32_t value = 0;
  std::size_t digits = 0;
  while (digits < most && !at_end() && hexadecimal_value(peek()) >= 0) {
    value = value * 16 + static_cast<char32_t>(hexadecimal_value(peek()));
    skip(1);
    ++digits;
  }
  if (digits == 0 || (braces && !take("}")) || value > CodePointSet::kLast) {
    return malformed("a bad hexadecimal escape");
  }
  if (most == 2 && value > 0x7F) {
    return unsupported("a byte escape above \\x7f");
  }
  return value;
}

Result<CodePointSet> PatternClassReader::take_class(int depth) {
  if (depth > kMaxClassDepth) {
    return unsupported("a class nested this deeply");
  }
  const bool negated = take("^");
  CodePointSet all({{0, CodePointSet::kLast}});  // what the operands of && before this one allow
  CodePointSet set;
  for (bool first = true;; first = false) {
    if (at_end()) {
      return malformed("a class is not closed");
    }
    if (peek() == ']' && !first) {
      skip(1);
      break;
    }
    if (take("&&")) {
      all = all.intersection(set);
      set = CodePointSet();
      continue;
    }
    const Item item = TRY(take_class_item(depth));
    const bool range = item.character && pattern_.substr(at_).starts_with("-") &&
                       at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']';
    if (!range) {
      set.add(item.set);
      continue;
    }
    skip(1);
    const Item end = TRY(take_class_item(depth));
    if (!end.character || *end.character < *item.character) {
      return malformed("a range of a class has a bad end");
    }
    set.add(*item.character, *end.character);
  }
  set = all.intersection(set);
  return negated ? set.complement() : set;
}

Result<PatternClassReader::Item> PatternClassReader::take_class_item(int depth) {
  if (peek() == '\\') {
    return take_escape();
  }
  if (pattern_.substr(at_).starts_with("[:")) {
    return unsupported("a POSIX bracket");
  }
  if (take("[")) {
    return Item{TRY(take_class(depth + 1)), std::nullopt};
  }
  const char32_t c = next_code_point(pattern_, at_);
  return Item{one(c), c};
}

Result<CodePointSet> PatternClassReader::without_case(const CodePointSet& set) const {
  CodePointSet result = set;
  for (const CodePointRange& range : set.ranges()) {
    if (range.last >= 0x80) {
      return unsupported("ignoring the case of characters outside ASCII");
    }
    for (char32_t c = range.first; c <= range.last; ++c) {
      const char32_t lower = c | 0x20;
      if (lower < 'a' || lower > 'z') {
        continue;
      }
      result.add(one(c ^ 0x20));
      // LATIN SMALL LETTER LONG S and KELVIN SIGN fold to these two.
      if (lower == 's') {
        result.add(one(0x17F));
      } else if (lower == 'k') {
        result.add(one(0x212A));
      }
    }
  }
  return result;
}

}  // namespace godwit
