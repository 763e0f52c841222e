#include "text/jinja/format_spec.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

constexpr std::string_view kAligns = "<>^=";
/// Precision beyond which a double has no more digits.
constexpr std::int64_t kMaxPrecision = 400;

std::string group_thousands(std::string digits, char separator) {
  std::size_t end = digits.find_first_not_of("0123456789");
  end = std::min(end, digits.size());
  for (std::size_t i = end; i > 3; i -= 3) {
    digits.insert(i - 3, 1, separator);
  }
  return digits;
}

Result<std::string> lay_out_integer(Runtime& runtime, Integer value, const FormatSpec& spec) {
  std::string sign = value < 0 ? "-" : (spec.sign == '-' ? "" : std::string(1, spec.sign));
  std::string digits;
  switch (spec.type) {
    case 'x':
    case 'X':
      digits = digits_of(value, 16);
      sign += spec.alternate ? "0x" : "";
      break;
    case 'o':
      digits = digits_of(value, 8);
      sign += spec.alternate ? "0o" : "";
      break;
    case 'b':
      digits = digits_of(value, 2);
      sign += spec.alternate ? "0b" : "";
      break;
    case 'c':
      sign.clear();
      append_utf8(digits, static_cast<char32_t>(std::clamp(value, Integer{0}, Integer{0x110000})));
      break;
    default:
      digits = digits_of(value, 10);
  }
  if (spec.type == 'X') {
    digits = to_upper(digits);
    sign = to_upper(sign);
  }
  if (spec.group != 0) {
    digits = group_thousands(digits, spec.group);
  }
  return pad(runtime, sign, digits, spec, '>');
}

Result<std::string> lay_out_float(Runtime& runtime, double value, const FormatSpec& spec) {
  std::string sign = std::signbit(value) && !std::isnan(value)
                         ? "-"
                         : (spec.sign == '-' ? "" : std::string(1, spec.sign));
  std::string digits;
  if (!std::isfinite(value)) {
    digits = std::isnan(value) ? "nan" : "inf";
  } else if (spec.type == 0 && !spec.precision) {
    digits = float_text(std::fabs(value));
  } else if (spec.type == '%') {
    digits = float_digits(std::fabs(value) * 100, 'f', spec.precision.value_or(6), false);
  } else {
    digits = float_digits(std::fabs(value), spec.type == 0 || spec.type == 'n' ? 'g' : spec.type,
                          spec.precision.value_or(6), spec.alternate);
  }
  if (spec.group != 0) {
    digits = group_thousands(digits, spec.group);
  }
  digits += spec.type == '%' ? "%" : "";
  return pad(runtime, sign, digits, spec, '>');
}

}  // namespace

Result<std::optional<std::int64_t>> take_number(std::string_view& text) {
  std::optional<std::int64_t> number;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    number = number.value_or(0) * 10 + (text.front() - '0');
    if (*number > 1'000'000'000) {
      return value_error("Too many decimal digits in format string");
    }
    text.remove_prefix(1);
  }
  return number;
}

Result<FormatSpec> parse_format_spec(std::string_view text) {
  FormatSpec spec;
  const auto take = [&](std::string_view any) {
    if (!text.empty() && any.find(text.front()) != std::string_view::npos) {
      const char c = text.front();
      text.remove_prefix(1);
      return c;
    }
    return '\0';
  };
  if (!text.empty()) {
    const std::size_t size = first_code_point(text).size;
    if (size < text.size() && kAligns.find(text[size]) != std::string_view::npos) {
      spec.fill = text.substr(0, size);
      text.remove_prefix(size);
    }
  }
  spec.align = take(kAligns);
  const char sign = take("+- ");
  spec.sign = sign == 0 ? '-' : sign;
  spec.alternate = take("#") != 0;
  if (!text.empty() && text.front() == '0') {
    text.remove_prefix(1);
    if (spec.align == 0) {
      spec.fill = "0";
      spec.align = '=';
    }
  }
  spec.width = TRY(take_number(text)).value_or(0);
  spec.group = take(",_");
  if (take(".") != 0) {
    spec.precision = TRY(take_number(text));
    if (!spec.precision) {
      return value_error("Format specifier missing precision");
    }
  }
  spec.type = take("bcdeEfFgGnosxX%");
  if (!text.empty()) {
    return value_error("Invalid format specifier");
  }
  return spec;
}

std::string digits_of(Integer value, int base) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  auto rest = static_cast<unsigned __int128>(value);
  if (value < 0) {
    rest = ~rest + 1;
  }
  std::string digits;
  do {
    digits += kDigits[static_cast<std::size_t>(rest % static_cast<unsigned>(base))];
    rest /= static_cast<unsigned>(base);
  } while (rest != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string float_digits(double value, char type, std::int64_t precision, bool alternate) {
  std::string pattern = alternate ? "%#.*" : "%.*";
  pattern += type;
  const int digits = static_cast<int>(std::clamp(precision, std::int64_t{0}, kMaxPrecision));
  // The pattern is made of the conversions e, f and g only.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int size = std::snprintf(nullptr, 0, pattern.c_str(), digits, value);
  std::string out(static_cast<std::size_t>(size) + 1, '\0');
  std::snprintf(out.data(), out.size(), pattern.c_str(), digits, value);
#pragma GCC diagnostic pop
  out.pop_back();
  return out;
}

Result<std::string> pad(Runtime& runtime, std::string_view sign, std::string_view text,
                        const FormatSpec& spec, char default_align) {
  const std::int64_t size = length_of(text) + length_of(sign);
  const std::int64_t missing = std::max<std::int64_t>(spec.width - size, 0);
  if (missing > static_cast<std::int64_t>(runtime.budget.limits().max_output_bytes)) {
    return runtime.budget.charge_bytes(static_cast<std::size_t>(missing));
  }
  TRY(runtime.budget.charge_bytes(text.size() + sign.size() +
                                  static_cast<std::size_t>(missing) * spec.fill.size()));
  const char align = spec.align == 0 ? default_align : spec.align;
  std::int64_t before = 0;
  if (align == '>' || align == '=') {
    before = missing;
  } else if (align == '^') {
    before = missing / 2;
  }
  std::string out;
  const auto fill = [&](std::int64_t count) {
    for (; count > 0; --count) {
      out += spec.fill;
    }
  };
  if (align == '=') {
    out += sign;
    fill(before);
  } else {
    fill(before);
    out += sign;
  }
  out += text;
  fill(missing - before);
  return out;
}

Result<std::string> lay_out(Runtime& runtime, const Value& value, const FormatSpec& spec) {
  if (value.is_undefined() && spec.type != 0 && spec.type != 's') {
    return value.as_undefined().failure();
  }
  const bool wants_float = std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
  const bool wants_integer = std::string_view("bcdoxXn").find(spec.type) != std::string_view::npos;
  if (value.is_integer() && spec.type != 0 && wants_float) {
    return lay_out_float(runtime, value.as_double(), spec);
  }
  const bool as_integer = value.is(Kind::kInt) || (value.is(Kind::kBool) && spec.type != 0);
  if (as_integer && (spec.type == 0 || wants_integer)) {
    return lay_out_integer(runtime, value.as_integer(), spec);
  }
  if (value.is(Kind::kFloat) && (spec.type == 0 || wants_float || spec.type == 'n')) {
    return lay_out_float(runtime, value.as_double(), spec);
  }
  if (spec.type != 0 && spec.type != 's') {
    return value_error(std::string("Unknown format code '") + spec.type + "' for object of type '" +
                       std::string(value.type_name()) + "'");
  }
  if (value.is_number() && spec.type == 's') {
    return value_error("Unknown format code 's' for object of type '" +
                       std::string(value.type_name()) + "'");
  }
  std::string text = TRY(to_text(runtime.budget, value));
  if (spec.precision) {
    text.resize(offset_of(text, *spec.precision));
  }
  return pad(runtime, {}, text, spec, '<');
}

}  // namespace godwit::jinja
