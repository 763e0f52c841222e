#include "text/jinja/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/budget.h"
#include "text/jinja/error.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

void append_hex(std::string& out, char32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += kHex[(value >> static_cast<unsigned>(shift)) & 15U];
  }
}

void append_quoted(std::string& out, std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out += quote;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const char32_t c = point.value;
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += '\\';
      out += text.front();
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      out += text.substr(0, point.size);
    } else if (c < 0x100) {
      out += "\\x";
      append_hex(out, c, 2);
    } else if (c < 0x10000) {
      out += "\\u";
      append_hex(out, c, 4);
    } else {
      out += "\\U";
      append_hex(out, c, 8);
    }
    text.remove_prefix(point.size);
  }
  out += quote;
}

/// Writes the repr of values, which share parts and so may be far larger than their memory.
class ReprWriter {
 public:
  ReprWriter(Budget& budget, bool sorted) : budget_(budget), sorted_(sorted) {}

  Status write(const Value& value) {
    const DepthGuard guard(budget_);
    if (!guard.status().ok()) {
      return guard.status();
    }
    TRY(budget_.charge(1));
    TRY(check_size());
    switch (value.kind()) {
      case Kind::kNone:
        out_ += "None";
        return {};
      case Kind::kUndefined:
        out_ += "Undefined";
        return {};
      case Kind::kBool:
        out_ += value.as_bool() ? "True" : "False";
        return {};
      case Kind::kInt:
        out_ += integer_text(value.as_integer());
        return {};
      case Kind::kFloat:
        out_ += float_text(value.as_double());
        return {};
      case Kind::kString:
        TRY(budget_.charge_bytes(value.as_string().size()));
        if (value.is_markup()) {
          out_ += "Markup(";
        }
        append_quoted(out_, value.as_string());
        out_ += value.is_markup() ? ")" : "";
        return {};
      case Kind::kSequence:
        return write_sequence(*value.as_sequence());
      case Kind::kDict:
        return write_dict(value.as_dict()->members);
      case Kind::kNamespace:
        return write_namespace(*value.as_namespace());
      default:
        write_object(value);
        return {};
    }
  }
  std::string take() { return std::move(out_); }

 private:
  [[nodiscard]] Status check_size() {
    return out_.size() > budget_.limits().max_output_bytes ? budget_.charge_bytes(out_.size())
                                                           : Status();
  }

  Status write_items(std::string_view open, const std::vector<Value>& items,
                     std::string_view close) {
    out_ += open;
    for (std::size_t i = 0; i < items.size(); ++i) {
      out_ += i == 0 ? "" : ", ";
      TRY(write(items[i]));
    }
    out_ += close;
    return {};
  }
  Status write_sequence(const Sequence& sequence) {
    switch (sequence.kind) {
      case SequenceKind::kList:
        return write_items("[", sequence.items, "]");
      case SequenceKind::kTuple:
      case SequenceKind::kGroup:
        return write_items("(", sequence.items, sequence.items.size() == 1 ? ",)" : ")");
      case SequenceKind::kGenerator:
        out_ += "<generator object>";
        return {};
      case SequenceKind::kDictKeys:
        return write_items("dict_keys([", sequence.items, "])");
      case SequenceKind::kDictValues:
        return write_items("dict_values([", sequence.items, "])");
      case SequenceKind::kDictItems:
        return write_items("dict_items([", sequence.items, "])");
    }
    return {};
  }
  Status write_dict(const std::vector<Member>& members) {
    std::vector<Member> in_order;
    if (sorted_) {
      in_order = members;
      TRY(sort_members(budget_, in_order));
    }
    out_ += '{';
    bool first = true;
    for (const Member& member : sorted_ ? in_order : members) {
      out_ += first ? "" : ", ";
      first = false;
      TRY(write(member.first));
      out_ += ": ";
      TRY(write(member.second));
    }
    out_ += '}';
    return {};
  }
  Status write_namespace(const Namespace& space) {
    out_ += "<Namespace {";
    bool first = true;
    for (const auto& [name, value] : space.attributes) {
      out_ += first ? "" : ", ";
      first = false;
      append_quoted(out_, name);
      out_ += ": ";
      TRY(write(value));
    }
    out_ += "}>";
    return {};
  }
  void write_object(const Value& value) {
    if (value.is(Kind::kOpaque)) {
      out_ += value.as_opaque().text;
    } else if (value.is(Kind::kRange)) {
      const Range& range = value.as_range();
      out_ += "range(" + std::to_string(range.start) + ", " + std::to_string(range.stop);
      out_ += range.step == 1 ? ")" : ", " + std::to_string(range.step) + ")";
    } else if (value.is(Kind::kFunction)) {
      out_ += "<function " + std::string(value.as_function().function->name) + ">";
    } else if (value.is(Kind::kLoop)) {
      const Loop& loop = *value.as_loop();
      out_ += "<LoopContext " + std::to_string(loop.index0 + 1) + "/" +
              std::to_string(loop.items.size()) + ">";
    } else {
      out_ += "<" + std::string(value.type_name()) + ">";
    }
  }

  Budget& budget_;
  bool sorted_;
  std::string out_;
};

void append_json_escape(std::string& out, char32_t c) {
  if (c >= 0x10000) {
    const char32_t rest = c - 0x10000;
    append_json_escape(out, 0xD800 + (rest >> 10U));
    append_json_escape(out, 0xDC00 + (rest & 0x3FFU));
    return;
  }
  out += "\\u";
  append_hex(out, c, 4);
}

void append_json_text(std::string& out, std::string_view text, bool ensure_ascii) {
  out += '"';
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const char32_t c = point.value;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text.front();
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\b') {
      out += "\\b";
    } else if (c == '\f') {
      out += "\\f";
    } else if (c < 0x20 || (ensure_ascii && c > 0x7E)) {
      append_json_escape(out, c);
    } else {
      out += text.substr(0, point.size);
    }
    text.remove_prefix(point.size);
  }
  out += '"';
}

std::string json_float(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value < 0 ? "-Infinity" : "Infinity";
  }
  return float_text(value);
}

class JsonTextWriter {
 public:
  JsonTextWriter(Budget& budget, const JsonTextOptions& options)
      : budget_(budget), options_(options) {}

  Status write(const Value& value, int level) {
    const DepthGuard guard(budget_);
    if (!guard.status().ok()) {
      return guard.status();
    }
    TRY(budget_.charge(1));
    if (out_.size() > budget_.limits().max_output_bytes) {
      return budget_.charge_bytes(out_.size());
    }
    switch (value.kind()) {
      case Kind::kNone:
        out_ += "null";
        return {};
      case Kind::kBool:
        out_ += value.as_bool() ? "true" : "false";
        return {};
      case Kind::kInt:
        out_ += integer_text(value.as_integer());
        return {};
      case Kind::kFloat:
        out_ += json_float(value.as_double());
        return {};
      case Kind::kString:
        TRY(budget_.charge_bytes(value.as_string().size()));
        append_json_text(out_, value.as_string(), options_.ensure_ascii);
        return {};
      case Kind::kDict:
        return write_dict(value.as_dict()->members, level);
      case Kind::kSequence:
        if (value.as_sequence()->kind <= SequenceKind::kGroup) {
          return write_list(value.as_sequence()->items, level);
        }
        break;
      default:
        break;
    }
    return type_error("Object of type " + std::string(value.type_name()) +
                      " is not JSON serializable");
  }
  std::string take() { return std::move(out_); }

 private:
  void new_line(int level) {
    if (options_.has_indent) {
      out_ += '\n';
      for (int i = 0; i < level; ++i) {
        out_ += options_.indent;
      }
    }
  }
  Status write_list(const std::vector<Value>& items, int level) {
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      out_ += i == 0 ? "" : options_.item_separator;
      new_line(level + 1);
      TRY(write(items[i], level + 1));
    }
    if (!items.empty()) {
      new_line(level);
    }
    out_ += ']';
    return {};
  }
  Status write_key(const Value& key) {
    switch (key.kind()) {
      case Kind::kString:
        append_json_text(out_, key.as_string(), options_.ensure_ascii);
        return {};
      case Kind::kNone:
        out_ += "\"null\"";
        return {};
      case Kind::kBool:
        out_ += key.as_bool() ? "\"true\"" : "\"false\"";
        return {};
      case Kind::kInt:
        out_ += '"' + integer_text(key.as_integer()) + '"';
        return {};
      case Kind::kFloat:
        out_ += '"' + json_float(key.as_double()) + '"';
        return {};
      default:
        return type_error("keys must be str, int, float, bool or None, not " +
                          std::string(key.type_name()));
    }
  }
  Status write_dict(const std::vector<Member>& members, int level) {
    std::vector<Member> in_order;
    if (options_.sort_keys) {
      in_order = members;
      TRY(sort_members(budget_, in_order));
    }
    out_ += '{';
    bool first = true;
    for (const Member& member : options_.sort_keys ? in_order : members) {
      out_ += first ? "" : options_.item_separator;
      first = false;
      new_line(level + 1);
      TRY(write_key(member.first));
      out_ += options_.key_separator;
      TRY(write(member.second, level + 1));
    }
    if (!members.empty()) {
      new_line(level);
    }
    out_ += '}';
    return {};
  }

  Budget& budget_;
  const JsonTextOptions& options_;
  std::string out_;
};

}  // namespace

std::string integer_text(Integer value) {
  const bool negative = value < 0;
  auto rest = static_cast<unsigned __int128>(value);
  if (negative) {
    rest = ~rest + 1;
  }
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  digits += negative ? "-" : "";
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string float_text(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value < 0 ? "-inf" : "inf";
  }
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t e = text.find('e');
  int exponent = 0;
  const std::size_t sign = text[e + 1] == '+' ? 1 : 0;
  std::from_chars(text.data() + e + 1 + sign, end, exponent);
  // Python changes to scientific form below 1e-4 and from 1e16 on.
  if (exponent < -4 || exponent >= 16) {
    return std::string(text);
  }
  const auto fixed_end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed)
          .ptr;
  std::string fixed(buffer.data(), fixed_end);
  if (fixed.find('.') == std::string::npos) {
    fixed += ".0";
  }
  return fixed;
}

std::string quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

Result<std::string> to_text(Budget& budget, const Value& value) {
  if (value.is_string()) {
    return value.as_string();
  }
  if (value.is_undefined()) {
    return std::string();
  }
  return to_repr(budget, value);
}

Result<std::string> to_repr(Budget& budget, const Value& value) {
  ReprWriter writer(budget, false);
  TRY(writer.write(value));
  return writer.take();
}

Result<std::string> to_sorted_repr(Budget& budget, const Value& value) {
  ReprWriter writer(budget, true);
  TRY(writer.write(value));
  return writer.take();
}

Result<std::string> to_json_text(Budget& budget, const Value& value,
                                 const JsonTextOptions& options) {
  JsonTextWriter writer(budget, options);
  TRY(writer.write(value, 0));
  return writer.take();
}

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Result<std::string> to_escaped(Budget& budget, const Value& value) {
  std::string text = TRY(to_text(budget, value));
  TRY(budget.charge_bytes(text.size()));
  return value.is_markup() ? text : escape_html(text);
}

}  // namespace godwit::jinja
