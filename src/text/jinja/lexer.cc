#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"

namespace godwit::jinja {
namespace {

constexpr std::array<std::string_view, 26> kOperators = {
    "==", "!=", ">=", "<=", "//", "**", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

/// Makes every line end "\n" and drops the last one.
std::string normalize(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') {
      ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') {
    out.pop_back();
  }
  return out;
}

bool is_figure(char c) {
  return c >= '0' && c <= '9';
}

/// Decodes the escapes of a string literal.
class StringDecoder {
 public:
  explicit StringDecoder(std::string_view text) : text_(text) {}

  /// Errors: TemplateSyntaxError for an escape that is cut short.
  Result<std::string> decode() {
    while (at_ < text_.size()) {
      if (text_[at_] != '\\' || at_ + 1 == text_.size()) {
        out_ += text_[at_++];
        continue;
      }
      const char c = text_[at_ + 1];
      at_ += 2;
      if (!put_simple(c) && !TRY(put_code(c))) {
        out_ += '\\';
        out_ += c;
      }
    }
    return std::move(out_);
  }

 private:
  bool put_simple(char c) {
    constexpr std::string_view kNames = "\n\\'\"abfnrtv";
    constexpr std::array<std::string_view, 11> kTexts = {"",   "\\", "'",  "\"", "\a", "\b",
                                                         "\f", "\n", "\r", "\t", "\v"};
    const std::size_t place = kNames.find(c);
    if (place == std::string_view::npos) {
      return false;
    }
    out_ += kTexts[place];
    return true;
  }
  Result<bool> put_code(char c) {
    if (c >= '0' && c <= '7') {
      char32_t value = static_cast<char32_t>(c - '0');
      for (int i = 0; i < 2 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7'; ++i) {
        value = value * 8 + static_cast<char32_t>(text_[at_++] - '0');
      }
      append_utf8(out_, value);
      return true;
    }
    const int digits = c == 'x' ? 2 : (c == 'u' ? 4 : (c == 'U' ? 8 : 0));
    if (digits == 0) {
      return false;
    }
    char32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const char figure = at_ < text_.size() ? text_[at_] : ' ';
      const char lower = static_cast<char>(figure | 0x20);
      if (is_figure(figure)) {
        value = value * 16 + static_cast<char32_t>(figure - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        value = value * 16 + static_cast<char32_t>(lower - 'a' + 10);
      } else {
        return error(ErrorType::kTemplateSyntaxError,
                     std::string("truncated \\") + c + " escape in a string");
      }
      ++at_;
    }
    append_utf8(out_, value);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) {
      TRY(take_data());
    }
    push(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return std::string_view(source_).substr(at_); }
  [[nodiscard]] bool ahead(std::string_view text, std::size_t offset = 0) const {
    return source_.compare(at_ + std::min(offset, source_.size() - at_), text.size(), text) == 0;
  }
  void push(TokenKind kind, std::string text) {
    tokens_.push_back(Token{kind, std::move(text), line_});
  }
  void advance(std::size_t size) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(at_ + size),
                                         '\n'));
    if (size > 0) {
      line_starting_ = source_[at_ + size - 1] == '\n';
    }
    at_ += size;
  }
  void skip_space() {
    const std::string_view kept = strip_left(rest());
    advance(source_.size() - at_ - kept.size());
  }
  [[nodiscard]] Status syntax_error(std::string_view message) const {
    return error(ErrorType::kTemplateSyntaxError, message);
  }

  /// The sign right after the two characters that open a tag.
  [[nodiscard]] char sign_at(std::size_t at) const {
    const char c = at + 2 < source_.size() ? source_[at + 2] : '\0';
    return c == '-' || c == '+' ? c : '\0';
  }

  /// Writes the text before a tag that opens at `end`, without the white space the tag eats.
  void push_data(std::size_t end, char sign, bool may_strip_line) {
    std::string_view data = std::string_view(source_).substr(at_, end - at_);
    if (sign == '-') {
      data = strip_right(data);
    } else if (sign != '+' && may_strip_line) {
      const std::size_t newline = data.rfind('\n');
      const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
      if ((line > 0 || line_starting_) && strip_left(data.substr(line)).empty()) {
        data = data.substr(0, line);
      }
    }
    if (!data.empty()) {
      push(TokenKind::kData, std::string(data));
    }
    advance(end - at_);
  }

  Status take_data() {
    std::size_t open = at_;
    while (true) {
      open = source_.find('{', open);
      if (open == std::string::npos || open + 1 >= source_.size()) {
        push(TokenKind::kData, std::string(rest()));
        advance(source_.size() - at_);
        return {};
      }
      const char second = source_[open + 1];
      if (second == '{' || second == '%' || second == '#') {
        break;
      }
      ++open;
    }
    const char kind = source_[open + 1];
    const char sign = sign_at(open);
    push_data(open, sign, kind != '{');
    if (kind == '#') {
      return take_comment(sign);
    }
    if (kind == '%') {
      if (const std::optional<std::size_t> size = raw_tag_size("raw", false)) {
        advance(*size);
        return take_raw();
      }
    }
    push(kind == '%' ? TokenKind::kBlockBegin : TokenKind::kPrintBegin, "");
    advance(sign == '\0' ? 2 : 3);
    return take_tag(kind == '%');
  }

  Status take_comment(char sign) {
    const std::size_t start = at_ + (sign == '\0' ? 2 : 3);
    const std::size_t close = source_.find("#}", start);
    if (close == std::string::npos) {
      return syntax_error("Missing end of comment tag");
    }
    const bool strips = close > start && source_[close - 1] == '-';
    const bool keeps = close > start && source_[close - 1] == '+';
    advance(close + 2 - at_);
    if (strips) {
      skip_space();
    } else if (!keeps && ahead("\n")) {
      advance(1);
    }
    return {};
  }

  /// The size of `{% raw %}` or `{% endraw %}` here, with the white space that it eats.
  [[nodiscard]] std::optional<std::size_t> raw_tag_size(std::string_view name, bool is_end) const {
    std::string_view text = rest();
    text.remove_prefix(sign_at(at_) == '\0' ? 2 : 3);
    text = strip_left(text);
    if (text.substr(0, name.size()) != name) {
      return std::nullopt;
    }
    text = strip_left(text.substr(name.size()));
    if (text.substr(0, 3) == "-%}") {
      text = strip_left(text.substr(3));
    } else if (is_end && text.substr(0, 3) == "+%}") {
      text.remove_prefix(3);
    } else if (text.substr(0, 2) == "%}") {
      text.remove_prefix(2);
      if (is_end && !text.empty() && text.front() == '\n') {
        text.remove_prefix(1);
      }
    } else {
      return std::nullopt;
    }
    return source_.size() - at_ - text.size();
  }

  Status take_raw() {
    const std::size_t start = at_;
    for (std::size_t open = source_.find("{%", at_); open != std::string::npos;
         open = source_.find("{%", open + 1)) {
      at_ = open;
      const std::optional<std::size_t> size = raw_tag_size("endraw", true);
      at_ = start;
      if (size) {
        push_data(open, sign_at(open), true);
        advance(*size);
        return {};
      }
    }
    return syntax_error("Missing end of raw directive");
  }

  /// The size of what ends the tag here, or 0.
  [[nodiscard]] std::size_t tag_end_size(bool is_block) const {
    const std::string_view close = is_block ? "%}" : "}}";
    if (ahead("-") && ahead(close, 1)) {
      const std::string_view after = rest().substr(3);
      return 3 + after.size() - strip_left(after).size();
    }
    if (is_block && ahead("+%}")) {
      return 3;
    }
    if (!ahead(close)) {
      return 0;
    }
    return is_block && ahead("\n", 2) ? 3 : 2;
  }

  Status take_tag(bool is_block) {
    std::string open_brackets;
    while (at_ < source_.size()) {
      const std::size_t end = open_brackets.empty() ? tag_end_size(is_block) : 0;
      if (end > 0) {
        push(is_block ? TokenKind::kBlockEnd : TokenKind::kPrintEnd, "");
        advance(end);
        return {};
      }
      const CodePoint point = first_code_point(rest());
      if (is_space(point.value)) {
        advance(point.size);
      } else if (is_figure(source_[at_])) {
        take_number();
      } else if (is_word(point.value)) {
        take_name();
      } else if (point.value == '\'' || point.value == '"') {
        TRY(take_string());
      } else {
        TRY(take_operator(open_brackets));
      }
    }
    return {};
  }

  void take_name() {
    std::size_t size = 0;
    while (at_ + size < source_.size()) {
      const CodePoint point = first_code_point(rest().substr(size));
      if (!is_word(point.value)) {
        break;
      }
      size += point.size;
    }
    push(TokenKind::kName, std::string(rest().substr(0, size)));
    advance(size);
  }

  /// The size of figures with single "_" between them, from an offset.
  [[nodiscard]] std::size_t figures(std::size_t offset, std::string_view allowed) const {
    const std::string_view text = rest();
    std::size_t end = offset;
    while (end < text.size()) {
      const bool separated = text[end] == '_' && end > offset && end + 1 < text.size() &&
                             allowed.find(text[end + 1]) != std::string_view::npos;
      if (!separated && allowed.find(text[end]) == std::string_view::npos) {
        break;
      }
      ++end;
    }
    return end - offset;
  }

  void take_number() {
    constexpr std::string_view kDecimal = "0123456789";
    constexpr std::array<std::pair<char, std::string_view>, 3> kBases = {
        {{'b', "01"}, {'o', "01234567"}, {'x', "0123456789abcdefABCDEF"}}};
    const std::string_view text = rest();
    std::size_t size = 0;
    TokenKind kind = TokenKind::kInteger;
    for (const auto& [letter, allowed] : kBases) {
      if (text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == letter) {
        const std::size_t count = figures(2, allowed);
        size = count == 0 ? 0 : 2 + count;
      }
    }
    if (size == 0) {
      size = figures(0, kDecimal);
      // After a dot comes an index, as in list.0.1.
      const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
      const std::size_t whole = size;
      if (!after_dot && size < text.size() && text[size] == '.') {
        const std::size_t fraction = figures(size + 1, kDecimal);
        size += fraction == 0 ? 0 : 1 + fraction;
      }
      if (!after_dot && size < text.size() && (text[size] | 0x20) == 'e') {
        const bool has_sign =
            size + 1 < text.size() && (text[size + 1] == '+' || text[size + 1] == '-');
        const std::size_t start = size + (has_sign ? 2 : 1);
        const std::size_t exponent = start < text.size() ? figures(start, kDecimal) : 0;
        size = exponent == 0 ? size : start + exponent;
      }
      kind = size > whole ? TokenKind::kFloat : TokenKind::kInteger;
    }
    std::string digits(text.substr(0, size));
    std::erase(digits, '_');
    push(kind, std::move(digits));
    advance(size);
  }

  Status take_string() {
    const char quote = source_[at_];
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) {
      end += source_[end] == '\\' ? 2 : 1;
    }
    if (end >= source_.size()) {
      return unexpected_char();
    }
    StringDecoder decoder(std::string_view(source_).substr(at_ + 1, end - at_ - 1));
    push(TokenKind::kString, TRY(decoder.decode()));
    advance(end + 1 - at_);
    return {};
  }

  [[nodiscard]] Status unexpected_char() const {
    const std::string_view point = rest().substr(0, first_code_point(rest()).size);
    const std::int64_t place = length_of(std::string_view(source_).substr(0, at_));
    return syntax_error("unexpected char " + quoted(point) + " at " + std::to_string(place));
  }

  Status take_operator(std::string& open_brackets) {
    for (const std::string_view text : kOperators) {
      if (!ahead(text)) {
        continue;
      }
      if (text == "(" || text == "[" || text == "{") {
        open_brackets += text == "(" ? ')' : (text == "[" ? ']' : '}');
      } else if (text == ")" || text == "]" || text == "}") {
        const std::string quoted_text = "'" + std::string(text) + "'";
        if (open_brackets.empty()) {
          return syntax_error("unexpected " + quoted_text);
        }
        if (open_brackets.back() != text.front()) {
          return syntax_error("unexpected " + quoted_text + ", expected '" + open_brackets.back() +
                              "'");
        }
        open_brackets.pop_back();
      }
      push(TokenKind::kOperator, std::string(text));
      advance(text.size());
      return {};
    }
    return unexpected_char();
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kData:
      return "template data / text";
    case TokenKind::kPrintBegin:
      return "begin of print statement";
    case TokenKind::kPrintEnd:
      return "end of print statement";
    case TokenKind::kBlockBegin:
      return "begin of statement block";
    case TokenKind::kBlockEnd:
      return "end of statement block";
    case TokenKind::kName:
    case TokenKind::kOperator:
      return token.text;
    case TokenKind::kString:
      return "string";
    case TokenKind::kInteger:
      return "integer";
    case TokenKind::kFloat:
      return "float";
    case TokenKind::kEnd:
      return "end of template";
  }
  return "token";
}

Result<std::vector<Token>> tokenize(std::string_view source) {
  return Lexer(normalize(source)).run();
}

}  // namespace godwit::jinja
