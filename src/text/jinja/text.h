#pragma once
// Values as text: Python's str() and repr(), json.dumps(), and HTML escaping.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "text/jinja/budget.h"
#include "text/jinja/value.h"

namespace godwit::jinja {

std::string integer_text(Integer value);
/// The shortest digits that read back equal, laid out as Python does: 1.0, 1e+20, inf.
std::string float_text(double value);
/// The repr of a string.
std::string quoted(std::string_view text);

/// Python's str(). Errors: the limits.
Result<std::string> to_text(Budget& budget, const Value& value);
/// Python's repr().
Result<std::string> to_repr(Budget& budget, const Value& value);
/// As to_repr, with the members of dicts sorted by key: pprint for what fits on a line.
Result<std::string> to_sorted_repr(Budget& budget, const Value& value);

struct JsonTextOptions {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool has_indent = false;
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

/// json.dumps() of Python. Errors: TypeError for what JSON cannot say.
Result<std::string> to_json_text(Budget& budget, const Value& value,
                                 const JsonTextOptions& options);

/// Escapes & < > " ' for HTML.
std::string escape_html(std::string_view text);
/// Escapes the text of a value unless it is markup already.
Result<std::string> to_escaped(Budget& budget, const Value& value);

}  // namespace godwit::jinja
