// Filters of one value: text, numbers and JSON. Part of filters.h.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"
#include "text/jinja/string_operations.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

template <std::string (*kMap)(std::string_view)>
Result<Value> map_text(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  const std::string text = TRY(to_text(runtime.budget, self));
  TRY(runtime.budget.charge_bytes(text.size()));
  return Value(kMap(text), self.is_markup());
}

Result<Value> string(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  return self.is_string() ? self : Value(TRY(to_text(runtime.budget, self)));
}

Result<Value> trim(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string text = TRY(to_text(runtime.budget, self));
  TRY(runtime.budget.charge_bytes(text.size()));
  const Value* chars = arguments.find(0, "chars");
  if (chars == nullptr || chars->is_none()) {
    return Value(std::string(strip_left(strip_right(text))), self.is_markup());
  }
  const std::string set = TRY(string_argument(arguments, 0, "chars", ""));
  return Value(std::string(strip_left(strip_right(text, &set), &set)), self.is_markup());
}

Result<Value> replace(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string text = TRY(to_text(runtime.budget, self));
  const std::string from = TRY(to_text(runtime.budget, *arguments.find(0, "old")));
  const std::string to = TRY(to_text(runtime.budget, *arguments.find(1, "new")));
  const Value* count = arguments.find(2, "count");
  const std::int64_t limit =
      count == nullptr || count->is_none() ? -1 : TRY(integer_argument(arguments, 2, "count", -1));
  return Value(TRY(replace_text(runtime.budget, text, {from, to, limit})), self.is_markup());
}

Result<Value> escape(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  return Value(TRY(to_escaped(runtime.budget, self)), true);
}

Result<Value> force_escape(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  return Value(escape_html(TRY(to_text(runtime.budget, self))), true);
}

Result<Value> safe(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  return Value(TRY(to_text(runtime.budget, self)), true);
}

Result<Value> fallback(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const bool also_false = flag_argument(arguments, 1, "boolean", false);
  if (self.is_undefined() || (also_false && !self.truthy())) {
    const Value* value = arguments.find(0, "default_value");
    return value == nullptr ? Value(std::string_view()) : *value;
  }
  return self;
}

Result<Value> absolute(Runtime& /*runtime*/, const Value& self, const Arguments& /*arguments*/) {
  if (self.is_undefined()) {
    return self.as_undefined().failure();
  }
  if (self.is_integer()) {
    return self.as_integer() < 0 ? negate(self) : Value(self.as_integer());
  }
  if (self.is(Kind::kFloat)) {
    return Value(std::fabs(self.as_double()));
  }
  return type_error("bad operand type for abs(): '" + std::string(self.type_name()) + "'");
}

/// Reads a number as Python's float() does.
std::optional<double> parse_float(std::string_view text) {
  std::string clean(strip_left(strip_right(text)));
  for (std::size_t i = 1; i + 1 < clean.size(); ++i) {
    const auto is_figure = [&](std::size_t at) { return clean[at] >= '0' && clean[at] <= '9'; };
    if (clean[i] == '_' && is_figure(i - 1) && is_figure(i + 1)) {
      clean.erase(i, 1);
    }
  }
  const bool odd = clean.empty() || clean.find_first_of("xXpP_(") != std::string::npos ||
                   is_space(static_cast<unsigned char>(clean.front()));
  if (odd) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double value = std::strtod(clean.c_str(), &end);
  return end == clean.c_str() + clean.size() ? std::optional<double>(value) : std::nullopt;
}

/// Reads a number as Python's int(text, base) does.
std::optional<Integer> parse_integer(std::string_view text, std::int64_t base) {
  text = strip_left(strip_right(text));
  bool negative = false;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  const std::string_view prefix = text.substr(0, 2);
  if ((base == 16 && (prefix == "0x" || prefix == "0X")) ||
      (base == 8 && (prefix == "0o" || prefix == "0O")) ||
      (base == 2 && (prefix == "0b" || prefix == "0B"))) {
    text.remove_prefix(2);
  }
  Integer value = 0;
  bool was_figure = false;
  for (const char c : text) {
    if (c == '_' && was_figure) {
      was_figure = false;
      continue;
    }
    std::int64_t figure = 99;
    if (c >= '0' && c <= '9') {
      figure = c - '0';
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      figure = (c | 0x20) - 'a' + 10;
    }
    if (figure >= base || __builtin_mul_overflow(value, Integer{base}, &value) ||
        __builtin_add_overflow(value, Integer{figure}, &value)) {
      return std::nullopt;
    }
    was_figure = true;
  }
  return was_figure ? std::optional<Integer>(negative ? -value : value) : std::nullopt;
}

Result<Value> truncated(double value, const Value& otherwise) {
  if (!(std::fabs(value) < 1e37)) {
    return otherwise;
  }
  return Value(static_cast<Integer>(value));
}

Result<Value> to_int(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const Value* given = arguments.find(0, "default");
  const Value otherwise = given == nullptr ? Value(Integer{0}) : *given;
  const std::int64_t base = TRY(integer_argument(arguments, 1, "base", 10));
  if (self.is_undefined()) {
    return self.as_undefined().failure();
  }
  if (self.is_integer()) {
    return Value(self.as_integer());
  }
  if (self.is(Kind::kFloat)) {
    return truncated(self.as_double(), otherwise);
  }
  if (!self.is_string()) {
    return otherwise;
  }
  if (const std::optional<Integer> value = parse_integer(self.as_string(), base)) {
    return Value(*value);
  }
  const std::optional<double> value = parse_float(self.as_string());
  return value ? truncated(*value, otherwise) : otherwise;
}

Result<Value> to_float(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const Value* given = arguments.find(0, "default");
  if (self.is_undefined()) {
    return self.as_undefined().failure();
  }
  if (self.is_number()) {
    return Value(self.as_double());
  }
  if (self.is_string()) {
    if (const std::optional<double> value = parse_float(self.as_string())) {
      return Value(*value);
    }
  }
  return given == nullptr ? Value(0.0) : *given;
}

/// Rounds half to even at a decimal place, on the exact binary value as Python does.
double round_half_even(double value, std::int64_t precision) {
  if (!std::isfinite(value)) {
    return value;
  }
  if (precision >= 0) {
    const std::string digits = float_digits(std::fabs(value), 'f', precision, false);
    return std::copysign(std::strtod(digits.c_str(), nullptr), value);
  }
  const double unit = std::pow(10.0, static_cast<double>(-precision));
  return std::isinf(unit) ? std::copysign(0.0, value) : std::nearbyint(value / unit) * unit;
}

Integer round_integer(Integer value, std::int64_t precision) {
  Integer unit = 1;
  for (; precision < 0; ++precision) {
    if (__builtin_mul_overflow(unit, Integer{10}, &unit)) {
      return 0;
    }
  }
  Integer quotient = value / unit;
  const Integer rest = value - quotient * unit;
  const Integer distance = rest < 0 ? -rest : rest;
  if (distance > unit - distance || (distance == unit - distance && quotient % 2 != 0)) {
    quotient += value < 0 ? -1 : 1;
  }
  Integer result = 0;
  return __builtin_mul_overflow(quotient, unit, &result) ? value : result;
}

Result<Value> round(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const std::int64_t precision = TRY(integer_argument(arguments, 0, "precision", 0));
  const std::string method = TRY(string_argument(arguments, 1, "method", "common"));
  if (method != "common" && method != "ceil" && method != "floor") {
    return error(ErrorType::kTemplateRuntimeError, "method must be common, ceil or floor");
  }
  if (self.is_undefined()) {
    return self.as_undefined().failure();
  }
  if (!self.is_number()) {
    return type_error("type " + std::string(self.type_name()) + " doesn't define __round__ method");
  }
  if (method == "common") {
    if (!self.is_integer()) {
      return Value(round_half_even(self.as_double(), precision));
    }
    return precision >= 0 ? Value(self.as_integer())
                          : Value(round_integer(self.as_integer(), precision));
  }
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = self.as_double() * unit;
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

Result<JsonTextOptions> json_options(const Arguments& arguments) {
  JsonTextOptions options;
  options.ensure_ascii = flag_argument(arguments, 0, "ensure_ascii", false);
  options.sort_keys = flag_argument(arguments, 3, "sort_keys", false);
  const Value* indent = arguments.find(1, "indent");
  if (indent != nullptr && indent->is_string()) {
    options.has_indent = true;
    options.indent = indent->as_string();
  } else if (indent != nullptr && !indent->is_none()) {
    constexpr std::int64_t kMaxIndent = 64;
    const std::int64_t width = TRY(integer_argument(arguments, 1, "indent", 0));
    if (width > kMaxIndent) {
      return error(ErrorType::kLimitError, "tojson indents by more than 64 columns");
    }
    options.has_indent = true;
    options.indent.assign(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
  }
  if (options.has_indent) {
    options.item_separator = ",";
  }
  const Value* separators = arguments.find(2, "separators");
  if (separators != nullptr && !separators->is_none()) {
    if (!separators->is(Kind::kSequence) || separators->as_sequence()->items.size() != 2 ||
        !separators->as_sequence()->items[0].is_string() ||
        !separators->as_sequence()->items[1].is_string()) {
      return type_error("separators must be a pair of strings");
    }
    options.item_separator = separators->as_sequence()->items[0].as_string();
    options.key_separator = separators->as_sequence()->items[1].as_string();
  }
  return options;
}

Result<Value> tojson(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const JsonTextOptions options = TRY(json_options(arguments));
  return Value(TRY(to_json_text(runtime.budget, self, options)));
}

Result<Value> pretty_print(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  return Value(TRY(to_sorted_repr(runtime.budget, self)));
}

Result<Value> format(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    return type_error("can't handle positional and keyword arguments at the same time");
  }
  const Value text = self.is_string() ? self : Value(TRY(to_text(runtime.budget, self)));
  if (arguments.named.empty()) {
    return format_percent(
        runtime, text,
        TRY(make_sequence(runtime.budget, arguments.positional, SequenceKind::kTuple)));
  }
  std::vector<Member> members;
  for (const auto& [name, value] : arguments.named) {
    members.emplace_back(Value(name), value);
  }
  return format_percent(runtime, text, TRY(make_dict(runtime.budget, members)));
}

Result<Value> attribute(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string name = TRY(to_text(runtime.budget, *arguments.find(0, "name")));
  if (self.is(Kind::kDict) && self.as_dict()->find(std::string_view(name)) != nullptr) {
    // This filter looks for attributes alone: a dict of nothing but that key has none.
    return get_attribute(runtime, TRY(make_dict(runtime.budget, {})), name);
  }
  return get_attribute(runtime, self, name);
}

std::string percent_encoded(std::string_view text, bool for_query) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (is_word(byte) || c == '.' || c == '-' || c == '~' ||
                                       (c == '/' && !for_query));
    if (plain) {
      out += c;
    } else if (c == ' ' && for_query) {
      out += '+';
    } else {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
  return out;
}

Result<Value> urlencode(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  if (self.is_string() || !is_iterable(self)) {
    const std::string text = TRY(to_text(runtime.budget, self));
    TRY(runtime.budget.charge_bytes(text.size() * 3));
    return Value(percent_encoded(text, false));
  }
  std::vector<Member> members;
  if (self.is(Kind::kDict)) {
    members = self.as_dict()->members;
  } else {
    for (const Value& item : TRY(iterate(runtime.budget, self))) {
      const std::vector<Value> pair = TRY(iterate(runtime.budget, item));
      if (pair.size() != 2) {
        return value_error("urlencode takes pairs");
      }
      members.emplace_back(pair[0], pair[1]);
    }
  }
  std::string out;
  for (const auto& [key, value] : members) {
    out += out.empty() ? "" : "&";
    out += percent_encoded(TRY(to_text(runtime.budget, key)), true) + "=";
    out += percent_encoded(TRY(to_text(runtime.budget, value)), true);
    TRY(runtime.budget.charge_bytes(out.size()));
  }
  return Value(std::move(out));
}

constexpr std::array<Function, 21> kFilters = {{
    {"abs", absolute, "", 0},
    {"attr", attribute, "name", 1},
    {"capitalize", map_text<capitalize>, "", 0},
    {"d", fallback, "default_value boolean", 0},
    {"default", fallback, "default_value boolean", 0},
    {"e", escape, "", 0},
    {"escape", escape, "", 0},
    {"float", to_float, "default", 0},
    {"forceescape", force_escape, "", 0},
    {"format", format, "*", 0},
    {"int", to_int, "default base", 0},
    {"lower", map_text<to_lower>, "", 0},
    {"pprint", pretty_print, "", 0},
    {"replace", replace, "old new count", 2},
    {"round", round, "precision method", 0},
    {"safe", safe, "", 0},
    {"string", string, "", 0},
    {"tojson", tojson, "ensure_ascii indent separators sort_keys", 0},
    {"trim", trim, "chars", 0},
    {"upper", map_text<to_upper>, "", 0},
    {"urlencode", urlencode, "", 0},
}};

}  // namespace

std::span<const Function> text_filters() {
  return kFilters;
}

}  // namespace godwit::jinja
