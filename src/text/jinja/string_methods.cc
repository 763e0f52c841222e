// The methods of str, part of methods.h.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/format.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/methods.h"
#include "text/jinja/runtime.h"
#include "text/jinja/string_operations.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

/// Methods that map a text to a text, white space and case alone deciding.
template <std::string (*kMap)(std::string_view)>
Result<Value> map_text(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  TRY(runtime.budget.charge_bytes(self.as_string().size()));
  return Value(kMap(self.as_string()), self.is_markup());
}

template <bool kLeft, bool kRight>
Result<Value> strip(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Value* chars = arguments.find(0, "chars");
  const bool is_default = chars == nullptr || chars->is_none();
  const std::string set = is_default ? "" : TRY(string_argument(arguments, 0, "chars", ""));
  TRY(runtime.budget.charge_bytes(self.as_string().size()));
  std::string_view text = self.as_string();
  if (kLeft) {
    text = strip_left(text, is_default ? nullptr : &set);
  }
  if (kRight) {
    text = strip_right(text, is_default ? nullptr : &set);
  }
  return Value(std::string(text), self.is_markup());
}

template <bool kFromRight>
Result<Value> split(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::int64_t limit = TRY(integer_argument(arguments, 1, "maxsplit", -1));
  const Value* separator = arguments.find(0, "sep");
  TRY(runtime.budget.charge_bytes(self.as_string().size()));
  std::vector<std::string_view> parts;
  const std::string text = self.as_string();
  if (separator == nullptr || separator->is_none()) {
    parts = split_spaces(text, limit, kFromRight);
  } else {
    const std::string by = TRY(string_argument(arguments, 0, "sep", ""));
    if (by.empty()) {
      return value_error("empty separator");
    }
    parts = split_at(text, by, limit, kFromRight);
  }
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) {
    items.emplace_back(std::string(part), self.is_markup());
  }
  return make_sequence(runtime.budget, std::move(items));
}

Result<Value> splitlines(Runtime& runtime, const Value& self, const Arguments& arguments) {
  TRY(runtime.budget.charge_bytes(self.as_string().size()));
  std::vector<Value> items;
  for (const std::string_view line :
       split_lines(self.as_string(), flag_argument(arguments, 0, "keepends", false))) {
    items.emplace_back(line);
  }
  return make_sequence(runtime.budget, std::move(items));
}

/// A slice of the text between the arguments `start` and `end`, with its place in code points.
struct Window {
  std::string_view text;
  std::int64_t start = 0;
};

Result<Window> window_of(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string_view text = self.as_string();
  TRY(runtime.budget.charge_bytes(text.size()));
  if (arguments.find(1, "start") == nullptr) {
    return Window{text, 0};
  }
  const std::int64_t size = length_of(text);
  const auto clamp = [&](std::int64_t place) {
    return std::clamp(place < 0 ? place + size : place, std::int64_t{0}, size);
  };
  const std::int64_t start = clamp(TRY(integer_argument(arguments, 1, "start", 0)));
  const std::int64_t stop = clamp(TRY(integer_argument(arguments, 2, "end", size)));
  const std::size_t from = offset_of(text, start);
  const std::size_t to = std::max(from, offset_of(text, stop));
  return Window{text.substr(from, to - from), start};
}

template <bool kFromRight, bool kMustExist>
Result<Value> find(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string needle = TRY(string_argument(arguments, 0, "sub", ""));
  const Window window = TRY(window_of(runtime, self, arguments));
  const std::size_t place = kFromRight ? window.text.rfind(needle) : window.text.find(needle);
  if (place == std::string_view::npos) {
    return kMustExist ? Result<Value>(value_error("substring not found")) : Value(Integer{-1});
  }
  return Value(window.start + length_of(window.text.substr(0, place)));
}

Result<Value> count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string needle = TRY(string_argument(arguments, 0, "sub", ""));
  const Window window = TRY(window_of(runtime, self, arguments));
  if (needle.empty()) {
    return Value(length_of(window.text) + 1);
  }
  std::int64_t found = 0;
  for (std::size_t at = window.text.find(needle); at != std::string_view::npos;
       at = window.text.find(needle, at + needle.size())) {
    ++found;
  }
  return Value(found);
}

template <bool kAtEnd>
Result<Value> has_affix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Window window = TRY(window_of(runtime, self, arguments));
  const auto matches = [&](const std::string& affix) {
    if (affix.size() > window.text.size()) {
      return false;
    }
    const std::size_t at = kAtEnd ? window.text.size() - affix.size() : 0;
    return window.text.substr(at, affix.size()) == affix;
  };
  const Value& affix = *arguments.find(0, kAtEnd ? "suffix" : "prefix");
  if (affix.is_string()) {
    return Value(matches(affix.as_string()));
  }
  if (affix.is_undefined()) {
    return affix.as_undefined().failure();
  }
  if (!affix.is_sequence(SequenceKind::kTuple)) {
    return type_error("the first argument must be str or a tuple of str, not " +
                      std::string(affix.type_name()));
  }
  for (const Value& candidate : affix.as_sequence()->items) {
    if (!candidate.is_string()) {
      return type_error("tuple for startswith or endswith must only contain str");
    }
    if (matches(candidate.as_string())) {
      return Value(true);
    }
  }
  return Value(false);
}

Result<Value> replace(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string from = TRY(string_argument(arguments, 0, "old", ""));
  const std::string to = TRY(string_argument(arguments, 1, "new", ""));
  const std::int64_t limit = TRY(integer_argument(arguments, 2, "count", -1));
  return Value(TRY(replace_text(runtime.budget, self.as_string(), {from, to, limit})),
               self.is_markup());
}

Result<Value> join(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::vector<Value> items = TRY(iterate(runtime.budget, *arguments.find(0, "iterable")));
  std::size_t size = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_string()) {
      return type_error("sequence item " + std::to_string(i) + ": expected str instance, " +
                        std::string(items[i].type_name()) + " found");
    }
    size += items[i].as_string().size() + self.as_string().size();
  }
  TRY(runtime.budget.charge_bytes(size));
  std::string out;
  out.reserve(size);
  for (std::size_t i = 0; i < items.size(); ++i) {
    out += i == 0 ? "" : self.as_string();
    out += items[i].as_string();
  }
  return Value(std::move(out));
}

template <bool kPrefix>
Result<Value> remove_affix(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const std::string affix = TRY(string_argument(arguments, 0, kPrefix ? "prefix" : "suffix", ""));
  std::string_view text = self.as_string();
  if (affix.size() > text.size()) {
    return self;
  }
  const std::size_t rest = text.size() - affix.size();
  if (kPrefix && text.substr(0, affix.size()) == affix) {
    text.remove_prefix(affix.size());
  } else if (!kPrefix && text.substr(rest) == affix) {
    text.remove_suffix(affix.size());
  }
  return Value(text);
}

template <bool kFromRight>
Result<Value> partition(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string by = TRY(string_argument(arguments, 0, "sep", ""));
  if (by.empty()) {
    return value_error("empty separator");
  }
  const std::string_view text = self.as_string();
  TRY(runtime.budget.charge_bytes(text.size()));
  const std::size_t at = kFromRight ? text.rfind(by) : text.find(by);
  std::vector<Value> parts;
  if (at == std::string_view::npos) {
    parts = {Value(std::string_view()), Value(std::string_view())};
    parts.insert(kFromRight ? parts.end() : parts.begin(), Value(text));
  } else {
    parts = {Value(text.substr(0, at)), Value(by), Value(text.substr(at + by.size()))};
  }
  return make_sequence(runtime.budget, std::move(parts), SequenceKind::kTuple);
}

template <char kAlign>
Result<Value> justify(Runtime& runtime, const Value& self, const Arguments& arguments) {
  FormatSpec spec;
  spec.width = TRY(integer_argument(arguments, 0, "width", 0));
  spec.fill = TRY(string_argument(arguments, 1, "fillchar", " "));
  if (length_of(std::string_view(spec.fill)) != 1) {
    return type_error("The fill character must be exactly one character long");
  }
  if (kAlign == '^') {
    return Value(TRY(center_text(runtime.budget, self.as_string(), spec.width, spec.fill)));
  }
  spec.align = kAlign;
  return Value(TRY(pad(runtime, {}, self.as_string(), spec, kAlign)));
}

Result<Value> zfill(Runtime& runtime, const Value& self, const Arguments& arguments) {
  FormatSpec spec;
  spec.width = TRY(integer_argument(arguments, 0, "width", 0));
  spec.fill = "0";
  spec.align = '=';
  std::string_view text = self.as_string();
  std::string_view sign;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    sign = text.substr(0, 1);
    text.remove_prefix(1);
  }
  return Value(TRY(pad(runtime, sign, text, spec, '=')));
}

Result<Value> expandtabs(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::int64_t size = TRY(integer_argument(arguments, 0, "tabsize", 8));
  std::string out;
  std::int64_t column = 0;
  for (const std::string_view point : split_code_points(self.as_string())) {
    if (point == "\t") {
      const std::int64_t spaces = size > 0 ? size - column % size : 0;
      TRY(runtime.budget.charge_bytes(out.size() + static_cast<std::size_t>(spaces)));
      out.append(static_cast<std::size_t>(spaces), ' ');
      column += spaces;
    } else {
      out += point;
      column = point == "\n" || point == "\r" ? 0 : column + 1;
    }
  }
  return Value(std::move(out));
}

template <bool (*kHolds)(char32_t)>
Result<Value> all_points(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  TRY(runtime.budget.charge_bytes(self.as_string().size()));
  bool holds = !self.as_string().empty();
  for (const std::string_view point : split_code_points(self.as_string())) {
    holds = holds && kHolds(first_code_point(point).value);
  }
  return Value(holds);
}

bool is_alnum(char32_t c) {
  return is_word(c) && c != U'_';
}

bool is_ascii(char32_t c) {
  return c < 0x80;
}

template <bool (*kHolds)(std::string_view)>
Result<Value> whole_text(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  TRY(runtime.budget.charge_bytes(self.as_string().size()));
  return Value(kHolds(self.as_string()));
}

bool is_identifier(std::string_view text) {
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) {
    return false;
  }
  for (const std::string_view point : split_code_points(text)) {
    if (!is_word(first_code_point(point).value)) {
      return false;
    }
  }
  return true;
}

bool is_title_text(std::string_view text) {
  return text == to_title(text) && (to_lower(text) != text || to_upper(text) != text);
}

Result<Value> encode(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  constexpr std::string_view kHex = "0123456789abcdef";
  TRY(runtime.budget.charge_bytes(self.as_string().size() * 4));
  std::string text = "b'";
  for (const char c : self.as_string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (c == '\r') {
      text += "\\r";
    } else if (c == '\\' || c == '\'') {
      text += '\\';
      text += c;
    } else if (byte < 0x20 || byte > 0x7E) {
      text += "\\x";
      text += kHex[byte >> 4U];
      text += kHex[byte & 15U];
    } else {
      text += c;
    }
  }
  return Value(Opaque{"bytes", text + "'"});
}

constexpr std::array<Function, 44> kStringMethods = {{
    {"capitalize", map_text<capitalize>, "", 0},
    {"casefold", map_text<to_lower>, "", 0},
    {"center", justify<'^'>, "width fillchar", 1},
    {"count", count, "sub start end", 1},
    {"encode", encode, "encoding errors", 0},
    {"endswith", has_affix<true>, "suffix start end", 1},
    {"expandtabs", expandtabs, "tabsize", 0},
    {"find", find<false, false>, "sub start end", 1},
    {"format", format_fields, "*", 0},
    {"index", find<false, true>, "sub start end", 1},
    {"isalnum", all_points<is_alnum>, "", 0},
    {"isalpha", all_points<is_alpha>, "", 0},
    {"isascii", all_points<is_ascii>, "", 0},
    {"isdecimal", all_points<is_decimal>, "", 0},
    {"isdigit", all_points<is_digit>, "", 0},
    {"isidentifier", whole_text<is_identifier>, "", 0},
    {"islower", whole_text<is_lower_text>, "", 0},
    {"isnumeric", all_points<is_digit>, "", 0},
    {"isprintable", all_points<is_printable>, "", 0},
    {"isspace", all_points<is_space>, "", 0},
    {"istitle", whole_text<is_title_text>, "", 0},
    {"isupper", whole_text<is_upper_text>, "", 0},
    {"join", join, "iterable", 1},
    {"ljust", justify<'<'>, "width fillchar", 1},
    {"lower", map_text<to_lower>, "", 0},
    {"lstrip", strip<true, false>, "chars", 0},
    {"partition", partition<false>, "sep", 1},
    {"removeprefix", remove_affix<true>, "prefix", 1},
    {"removesuffix", remove_affix<false>, "suffix", 1},
    {"replace", replace, "old new count", 2},
    {"rfind", find<true, false>, "sub start end", 1},
    {"rindex", find<true, true>, "sub start end", 1},
    {"rjust", justify<'>'>, "width fillchar", 1},
    {"rpartition", partition<true>, "sep", 1},
    {"rsplit", split<true>, "sep maxsplit", 0},
    {"rstrip", strip<false, true>, "chars", 0},
    {"split", split<false>, "sep maxsplit", 0},
    {"splitlines", splitlines, "keepends", 0},
    {"startswith", has_affix<false>, "prefix start end", 1},
    {"strip", strip<true, true>, "chars", 0},
    {"swapcase", map_text<swap_case>, "", 0},
    {"title", map_text<to_title>, "", 0},
    {"upper", map_text<to_upper>, "", 0},
    {"zfill", zfill, "width", 1},
}};

}  // namespace

const Function* find_string_method(std::string_view name) {
  for (const Function& function : kStringMethods) {
    if (function.name == name) {
      return &function;
    }
  }
  return nullptr;
}

}  // namespace godwit::jinja
