#include "text/jinja/format.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

/// Gives the values of `format % values` one by one, or by name from a dict.
class PercentValues {
 public:
  explicit PercentValues(const Value& values) : values_(values) {}

  Result<Value> next() {
    if (values_.is_sequence(SequenceKind::kTuple)) {
      const std::vector<Value>& items = values_.as_sequence()->items;
      if (used_ < items.size()) {
        return items[used_++];
      }
    } else if (used_ == 0) {
      ++used_;
      return values_;
    }
    return type_error("not enough arguments for format string");
  }
  Result<Value> named(const std::string& name) {
    if (!values_.is(Kind::kDict)) {
      return type_error("format requires a mapping");
    }
    by_name_ = true;
    const Value* value = values_.as_dict()->find(std::string_view(name));
    if (value == nullptr) {
      return error(ErrorType::kTemplateRuntimeError, "KeyError: " + quoted(name));
    }
    return *value;
  }
  [[nodiscard]] bool all_used() const {
    if (values_.is_sequence(SequenceKind::kTuple)) {
      return used_ == values_.as_sequence()->items.size();
    }
    // Python lets a dict or list stay unused.
    return used_ > 0 || by_name_ || values_.is(Kind::kDict) ||
           values_.is_sequence(SequenceKind::kList);
  }

 private:
  const Value& values_;
  std::size_t used_ = 0;
  bool by_name_ = false;
};

Status number_required(char type, const Value& value) {
  return type_error(std::string("%") + type + " format: a real number is required, not " +
                    std::string(value.type_name()));
}

Result<std::string> percent_number(Runtime& runtime, const Value& value, FormatSpec& spec) {
  if (!value.is_number()) {
    return number_required(spec.type, value);
  }
  if (std::string_view("diu").find(spec.type) != std::string_view::npos) {
    spec.type = 'd';
    const double number = value.as_double();
    if (value.is(Kind::kFloat)) {
      if (!(std::fabs(number) < 1e37)) {
        return error(ErrorType::kOverflowError, "cannot convert float to a small integer");
      }
      return lay_out(runtime, Value(static_cast<Integer>(number)), spec);
    }
    spec.precision.reset();
    return lay_out(runtime, Value(value.as_integer()), spec);
  }
  if (std::string_view("xXo").find(spec.type) != std::string_view::npos) {
    if (!value.is_integer()) {
      return number_required(spec.type, value);
    }
    return lay_out(runtime, Value(value.as_integer()), spec);
  }
  return lay_out(runtime, Value(value.as_double()), spec);
}

Result<std::string> percent_value(Runtime& runtime, const Value& value, FormatSpec spec) {
  if (spec.type == 's' || spec.type == 'r' || spec.type == 'a') {
    std::string text = spec.type == 's' ? TRY(to_text(runtime.budget, value))
                                        : TRY(to_repr(runtime.budget, value));
    spec.type = 's';
    spec.fill = " ";
    spec.align = spec.align == '<' ? '<' : '>';
    return lay_out(runtime, Value(std::move(text)), spec);
  }
  if (value.is_undefined()) {
    return value.as_undefined().failure();
  }
  if (spec.type == 'c') {
    spec.type = value.is_integer() ? 'c' : 's';
    spec.align = spec.align == '<' ? '<' : '>';
    return lay_out(runtime, value, spec);
  }
  if (std::string_view("diuxXoeEfFgG").find(spec.type) == std::string_view::npos) {
    return value_error(std::string("unsupported format character '") + spec.type + "'");
  }
  return percent_number(runtime, value, spec);
}

/// Reads flags, width and precision after the "%" and the name.
Result<FormatSpec> take_percent_spec(std::string_view& text, PercentValues& values) {
  FormatSpec spec;
  bool zero = false;
  for (; !text.empty() && std::string_view("#0- +").find(text.front()) != std::string_view::npos;
       text.remove_prefix(1)) {
    const char c = text.front();
    spec.alternate = spec.alternate || c == '#';
    spec.align = c == '-' ? '<' : spec.align;
    zero = zero || c == '0';
    if (c == '+' || (c == ' ' && spec.sign != '+')) {
      spec.sign = c;
    }
  }
  const auto star_or_number = [&]() -> Result<std::optional<std::int64_t>> {
    if (!text.empty() && text.front() == '*') {
      text.remove_prefix(1);
      const Value value = TRY(values.next());
      if (!value.is_integer()) {
        return type_error("* wants int");
      }
      return std::optional<std::int64_t>(static_cast<std::int64_t>(
          std::clamp(value.as_integer(), Integer{0}, Integer{1'000'000'000})));
    }
    return take_number(text);
  };
  spec.width = TRY(star_or_number()).value_or(0);
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    spec.precision = TRY(star_or_number()).value_or(0);
  }
  if (zero && spec.align == 0) {
    spec.fill = "0";
    spec.align = '=';
  }
  if (text.empty()) {
    return value_error("incomplete format");
  }
  spec.type = text.front();
  text.remove_prefix(1);
  return spec;
}

/// The fields of str.format, numbered or named.
class FieldFormatter {
 public:
  FieldFormatter(Runtime& runtime, const Arguments& arguments)
      : runtime_(runtime), arguments_(arguments) {}

  Result<std::string> format(std::string_view text, int level) {
    if (level > 2) {
      return value_error("Max string recursion exceeded");
    }
    std::string out;
    while (!text.empty()) {
      const char c = text.front();
      text.remove_prefix(1);
      const bool doubled = !text.empty() && text.front() == c;
      if (c == '{' && !doubled) {
        out += TRY(take_field(text, level));
      } else if (c == '}' && !doubled) {
        return value_error("Single '}' encountered in format string");
      } else {
        out += c;
        text.remove_prefix((c == '{' || c == '}') ? 1 : 0);
      }
      if (out.size() > runtime_.budget.limits().max_output_bytes) {
        return runtime_.budget.charge_bytes(out.size());
      }
    }
    TRY(runtime_.budget.charge_bytes(out.size()));
    return out;
  }

 private:
  Result<std::string> take_field(std::string_view& text, int level) {
    TRY(runtime_.budget.charge(1));
    std::size_t end = 0;
    int open = 1;
    for (; end < text.size() && open > 0; ++end) {
      open += text[end] == '{' ? 1 : 0;
      open -= text[end] == '}' ? 1 : 0;
    }
    if (open > 0) {
      return value_error("expected '}' before end of string");
    }
    std::string_view field = text.substr(0, end - 1);
    text.remove_prefix(end);

    std::string spec_text;
    std::string_view path = field;
    if (const std::size_t mark = field.find_first_of("!:"); mark != std::string_view::npos) {
      path = field.substr(0, mark);
      field.remove_prefix(mark);
    } else {
      field = {};
    }
    char conversion = 0;
    if (!field.empty() && field.front() == '!') {
      if (field.size() < 2 || (field.size() > 2 && field[2] != ':')) {
        return value_error("expected ':' after conversion specifier");
      }
      conversion = field[1];
      field.remove_prefix(2);
    }
    if (!field.empty()) {
      spec_text = TRY(format(field.substr(1), level + 1));
    }
    Value value = TRY(resolve(path));
    if (conversion == 'r' || conversion == 'a') {
      value = Value(TRY(to_repr(runtime_.budget, value)));
    } else if (conversion == 's') {
      value = Value(TRY(to_text(runtime_.budget, value)));
    } else if (conversion != 0) {
      return value_error("Unknown conversion specifier");
    }
    const FormatSpec spec = TRY(parse_format_spec(spec_text));
    return lay_out(runtime_, value, spec);
  }

  Result<Value> first_of(std::string_view name) {
    std::string_view rest = name;
    std::optional<std::int64_t> place = TRY(take_number(rest));
    if (name.empty()) {
      place = next_++;
    } else if (!rest.empty()) {
      place.reset();
    }
    if (place) {
      const auto index = static_cast<std::size_t>(*place);
      if (index >= arguments_.positional.size()) {
        return error(ErrorType::kTemplateRuntimeError,
                     "Replacement index " + std::to_string(*place) +
                         " out of range for positional args tuple");
      }
      return arguments_.positional[index];
    }
    for (const auto& [key, value] : arguments_.named) {
      if (key == name) {
        return value;
      }
    }
    return error(ErrorType::kTemplateRuntimeError, "KeyError: " + quoted(name));
  }

  Result<Value> resolve(std::string_view path) {
    const std::size_t mark = std::min(path.find_first_of(".["), path.size());
    Value value = TRY(first_of(path.substr(0, mark)));
    path.remove_prefix(mark);
    while (!path.empty()) {
      const bool is_attribute = path.front() == '.';
      path.remove_prefix(1);
      const std::size_t end = std::min(path.find_first_of(is_attribute ? ".[" : "]"), path.size());
      std::string_view name = path.substr(0, end);
      path.remove_prefix(is_attribute ? end : std::min(end + 1, path.size()));
      if (name.empty()) {
        return value_error("Empty attribute in format string");
      }
      if (is_attribute) {
        value = TRY(get_attribute(runtime_, value, name));
        continue;
      }
      const std::string_view key = name;
      const std::optional<std::int64_t> index = TRY(take_number(name));
      value = TRY(get_item(runtime_, value,
                           index && name.empty() ? Value(*index) : Value(std::string(key))));
    }
    return value;
  }

  Runtime& runtime_;
  const Arguments& arguments_;
  std::int64_t next_ = 0;
};

}  // namespace

Result<Value> format_percent(Runtime& runtime, const Value& format, const Value& values) {
  std::string_view text = format.as_string();
  std::string out;
  PercentValues source(values);
  while (!text.empty()) {
    const std::size_t percent = std::min(text.find('%'), text.size());
    out += text.substr(0, percent);
    text.remove_prefix(percent);
    if (text.empty()) {
      break;
    }
    text.remove_prefix(1);
    TRY(runtime.budget.charge(1));
    std::optional<Value> named;
    if (!text.empty() && text.front() == '(') {
      const std::size_t close = text.find(')');
      if (close == std::string_view::npos) {
        return value_error("incomplete format key");
      }
      named = TRY(source.named(std::string(text.substr(1, close - 1))));
      text.remove_prefix(close + 1);
    }
    const FormatSpec spec = TRY(take_percent_spec(text, source));
    if (spec.type == '%') {
      out += '%';
      continue;
    }
    const Value value = named ? *named : TRY(source.next());
    out += TRY(percent_value(runtime, value, spec));
    if (out.size() > runtime.budget.limits().max_output_bytes) {
      return runtime.budget.charge_bytes(out.size());
    }
  }
  TRY(runtime.budget.charge_bytes(out.size()));
  if (!source.all_used()) {
    return type_error("not all arguments converted during string formatting");
  }
  return Value(std::move(out), format.is_markup());
}

Result<Value> format_fields(Runtime& runtime, const Value& format, const Arguments& arguments) {
  FieldFormatter formatter(runtime, arguments);
  return Value(TRY(formatter.format(format.as_string(), 0)), format.is_markup());
}

}  // namespace godwit::jinja
