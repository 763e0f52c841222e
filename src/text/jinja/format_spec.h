#pragma once
// The layout that both kinds of formatting share: sign, width, precision and the form of numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace godwit::jinja {

struct FormatSpec {
  std::string fill = " ";
  char align = 0;  ///< '<', '>', '^', '=' or 0 for the type's own.
  char sign = '-';
  bool alternate = false;
  char group = 0;  ///< ',' or '_' between thousands.
  std::int64_t width = 0;
  std::optional<std::int64_t> precision;
  char type = 0;
};

/// Reads Python's format specification, for example ">8.2f". Errors: ValueError.
Result<FormatSpec> parse_format_spec(std::string_view text);

/// Reads digits, or nothing; removes them from `text`. Errors: ValueError when too large.
Result<std::optional<std::int64_t>> take_number(std::string_view& text);

/// Lays out a value as format(value, spec) does. Errors: ValueError for a type that does not fit.
Result<std::string> lay_out(Runtime& runtime, const Value& value, const FormatSpec& spec);

/// Lays out a text, or the digits of a number after its sign.
Result<std::string> pad(Runtime& runtime, std::string_view sign, std::string_view text,
                        const FormatSpec& spec, char default_align);

/// An integer in base 2, 8, 10 or 16, without its sign.
std::string digits_of(Integer value, int base);

/// A finite double by printf's conversions e, f and g (with the upper-case ones), without its sign.
std::string float_digits(double value, char type, std::int64_t precision, bool alternate);

}  // namespace godwit::jinja
