// Filters of lists and dicts. Part of filters.h.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/attribute_path.h"
#include "text/jinja/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

Value nothing(std::string_view message) {
  return Value(Undefined{.name = {},
                         .object_type = {},
                         .is_index = false,
                         .is_unsafe = false,
                         .message = std::string(message)});
}

Result<Value> length(Runtime& /*runtime*/, const Value& self, const Arguments& /*arguments*/) {
  if (const std::optional<std::int64_t> size = length_of(self)) {
    return Value(*size);
  }
  return type_error("object of type '" + std::string(self.type_name()) + "' has no len()");
}

Result<Value> first(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  const std::vector<Value> items = TRY(iterate(runtime.budget, self));
  return items.empty() ? nothing("No first item, sequence was empty.") : items.front();
}

Result<Value> last(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  if (self.is_sequence(SequenceKind::kGenerator)) {
    return type_error("'generator' object is not reversible");
  }
  const std::vector<Value> items = TRY(iterate(runtime.budget, self));
  return items.empty() ? nothing("No last item, sequence was empty.") : items.back();
}

Result<Value> list(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  return make_sequence(runtime.budget, TRY(iterate(runtime.budget, self)));
}

Result<std::vector<Value>> pairs_of(Runtime& runtime, const Value& self) {
  std::vector<Value> pairs;
  if (!self.is_undefined()) {
    if (!self.is(Kind::kDict)) {
      return type_error("Can only get item pairs from a mapping.");
    }
    for (const Member& member : self.as_dict()->members) {
      pairs.push_back(
          TRY(make_sequence(runtime.budget, {member.first, member.second}, SequenceKind::kTuple)));
    }
  }
  return pairs;
}

Result<Value> items(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  return make_generator(runtime.budget, pairs_of(runtime, self));
}

Result<Value> reverse(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  std::vector<Value> values = TRY(iterate(runtime.budget, self));
  std::reverse(values.begin(), values.end());
  if (!self.is_string()) {
    return make_sequence(runtime.budget, std::move(values), SequenceKind::kGenerator);
  }
  std::string out;
  for (const Value& point : values) {
    out += point.as_string();
  }
  return Value(std::move(out), self.is_markup());
}

Result<Value> join(Runtime& runtime, const Value& self, const Arguments& arguments) {
  Budget& budget = runtime.budget;
  std::vector<Value> values = TRY(iterate(budget, self));
  const Value* attribute = arguments.find(1, "attribute");
  if (attribute != nullptr && !attribute->is_none()) {
    const AttributePath path = TRY(AttributePath::parse(budget, *attribute));
    for (Value& value : values) {
      value = TRY(path.get(runtime, value));
    }
  }
  const Value* separator = arguments.find(0, "d");
  // Only with autoescape does Jinja escape what it joins.
  const bool escapes = runtime.autoescape;
  const auto text_of = [&](const Value& value) {
    return escapes ? to_escaped(budget, value) : to_text(budget, value);
  };
  const std::string between = separator == nullptr ? std::string() : TRY(text_of(*separator));
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += i == 0 ? "" : between;
    out += TRY(text_of(values[i]));
    if (out.size() > budget.limits().max_output_bytes) {
      return budget.charge_bytes(out.size());
    }
  }
  TRY(budget.charge_bytes(out.size()));
  return Value(std::move(out), escapes);
}

/// What items are sorted by: themselves or attributes, in lower case unless told otherwise.
Result<std::vector<Value>> sort_keys(Runtime& runtime, const std::vector<Value>& values,
                                     const Value* attribute, bool case_sensitive) {
  std::vector<AttributePath> paths;
  if (attribute != nullptr && !attribute->is_none()) {
    paths = TRY(AttributePath::parse_list(runtime.budget, *attribute));
  }
  const auto folded = [&](const Value& value) {
    return !case_sensitive && value.is_string() ? Value(to_lower(value.as_string())) : value;
  };
  std::vector<Value> keys;
  keys.reserve(values.size());
  for (const Value& value : values) {
    if (paths.empty()) {
      keys.push_back(folded(value));
      continue;
    }
    std::vector<Value> parts;
    for (const AttributePath& path : paths) {
      parts.push_back(folded(TRY(path.get(runtime, value))));
    }
    keys.push_back(parts.size() == 1 ? parts.front()
                                     : TRY(make_sequence(runtime.budget, std::move(parts))));
  }
  return keys;
}

Result<std::vector<Value>> sorted(Runtime& runtime, const std::vector<Value>& values,
                                  const std::vector<Value>& keys, bool reverse) {
  const std::vector<std::size_t> places =
      TRY(sort_places(values.size(), [&](std::size_t left, std::size_t right) {
        return reverse ? less(runtime.budget, keys[right], keys[left])
                       : less(runtime.budget, keys[left], keys[right]);
      }));
  std::vector<Value> out;
  out.reserve(values.size());
  for (const std::size_t place : places) {
    out.push_back(values[place]);
  }
  return out;
}

Result<Value> sort(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::vector<Value> values = TRY(iterate(runtime.budget, self));
  const std::vector<Value> keys =
      TRY(sort_keys(runtime, values, arguments.find(2, "attribute"),
                    flag_argument(arguments, 1, "case_sensitive", false)));
  return make_sequence(runtime.budget, TRY(sorted(runtime, values, keys,
                                                  flag_argument(arguments, 0, "reverse", false))));
}

Result<Value> dictsort(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (!self.is(Kind::kDict)) {
    return type_error("dictsort takes a dict, not " + std::string(self.type_name()));
  }
  const std::string by = TRY(string_argument(arguments, 1, "by", "key"));
  if (by != "key" && by != "value") {
    return error(ErrorType::kTemplateRuntimeError,
                 "You can only sort by either \"key\" or \"value\"");
  }
  const std::vector<Value> values = TRY(pairs_of(runtime, self));
  const Value place(Integer{by == "key" ? 0 : 1});
  const std::vector<Value> keys =
      TRY(sort_keys(runtime, values, &place, flag_argument(arguments, 0, "case_sensitive", false)));
  return make_sequence(runtime.budget, TRY(sorted(runtime, values, keys,
                                                  flag_argument(arguments, 2, "reverse", false))));
}

Result<std::vector<Value>> unique_items(Runtime& runtime, const Value& self,
                                        const Arguments& arguments) {
  const std::vector<Value> values = TRY(iterate(runtime.budget, self));
  const std::vector<Value> keys =
      TRY(sort_keys(runtime, values, arguments.find(1, "attribute"),
                    flag_argument(arguments, 0, "case_sensitive", false)));
  Dict seen;
  std::vector<Value> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_hashable(keys[i])) {
      return type_error("unhashable type: '" + std::string(keys[i].type_name()) + "'");
    }
    if (seen.find(keys[i]) == nullptr) {
      seen.set(keys[i], Value());
      out.push_back(values[i]);
    }
  }
  return out;
}

Result<Value> unique(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return make_generator(runtime.budget, unique_items(runtime, self, arguments));
}

template <bool kLargest>
Result<Value> extreme(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::vector<Value> values = TRY(iterate(runtime.budget, self));
  if (values.empty()) {
    return nothing("No aggregated item, sequence was empty.");
  }
  const std::vector<Value> keys =
      TRY(sort_keys(runtime, values, arguments.find(1, "attribute"),
                    flag_argument(arguments, 0, "case_sensitive", false)));
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const bool better = kLargest ? TRY(less(runtime.budget, keys[best], keys[i]))
                                 : TRY(less(runtime.budget, keys[i], keys[best]));
    best = better ? i : best;
  }
  return values[best];
}

Result<Value> sum(Runtime& runtime, const Value& self, const Arguments& arguments) {
  std::vector<Value> values = TRY(iterate(runtime.budget, self));
  const Value* attribute = arguments.find(0, "attribute");
  if (attribute != nullptr && !attribute->is_none()) {
    const AttributePath path = TRY(AttributePath::parse(runtime.budget, *attribute));
    for (Value& value : values) {
      value = TRY(path.get(runtime, value));
    }
  }
  const Value* start = arguments.find(1, "start");
  Value total = start == nullptr ? Value(Integer{0}) : *start;
  if (total.is_string()) {
    return type_error("sum() can't sum strings [use ''.join(seq) instead]");
  }
  for (const Value& value : values) {
    total = TRY(apply(runtime, BinaryOperator::kAdd, total, value));
  }
  return total;
}

Result<Value> groupby(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::vector<Value> values = TRY(iterate(runtime.budget, self));
  const Value& attribute = *arguments.find(0, "attribute");
  const Value* fallback = arguments.find(1, "default");
  const bool case_sensitive = flag_argument(arguments, 2, "case_sensitive", false);
  const AttributePath path = TRY(AttributePath::parse(runtime.budget, attribute));
  std::vector<Value> keys;
  std::vector<Value> places;
  for (const Value& value : values) {
    Value key = TRY(path.get(runtime, value));
    if (key.is_undefined() && fallback != nullptr && !fallback->is_none()) {
      key = *fallback;
    }
    keys.push_back(!case_sensitive && key.is_string() ? Value(to_lower(key.as_string())) : key);
    places.emplace_back(static_cast<std::int64_t>(places.size()));
  }
  std::vector<Value> groups;
  std::vector<Value> group;
  const std::vector<Value> order = TRY(sorted(runtime, places, keys, false));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto place = static_cast<std::size_t>(order[i].as_integer());
    group.push_back(values[place]);
    const bool ends = i + 1 == order.size() ||
                      !TRY(equal(runtime.budget, keys[place],
                                 keys[static_cast<std::size_t>(order[i + 1].as_integer())]));
    if (!ends) {
      continue;
    }
    Value name = TRY(path.get(runtime, group.front()));
    if (name.is_undefined() && fallback != nullptr && !fallback->is_none()) {
      name = *fallback;
    }
    const Value members = TRY(make_sequence(runtime.budget, std::exchange(group, {})));
    groups.push_back(
        TRY(make_sequence(runtime.budget, {std::move(name), members}, SequenceKind::kGroup)));
  }
  return make_sequence(runtime.budget, std::move(groups));
}

Result<std::vector<Value>> batch_items(Runtime& runtime, const Value& self,
                                       const Arguments& arguments) {
  const std::vector<Value> values = TRY(iterate(runtime.budget, self));
  const std::int64_t size = TRY(integer_argument(arguments, 0, "linecount", 1));
  if (size < 1) {
    return value_error("batch needs a line count of at least 1");
  }
  TRY(runtime.budget.charge_items(size));
  const Value* fill = arguments.find(1, "fill_with");
  std::vector<Value> out;
  std::vector<Value> line;
  for (const Value& value : values) {
    if (static_cast<std::int64_t>(line.size()) == size) {
      out.push_back(TRY(make_sequence(runtime.budget, std::exchange(line, {}))));
    }
    line.push_back(value);
  }
  if (!line.empty()) {
    if (fill != nullptr && !fill->is_none()) {
      line.resize(static_cast<std::size_t>(size), *fill);
    }
    out.push_back(TRY(make_sequence(runtime.budget, std::move(line))));
  }
  return out;
}

Result<Value> batch(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return make_generator(runtime.budget, batch_items(runtime, self, arguments));
}

Result<std::vector<Value>> slice_items(Runtime& runtime, const Value& self,
                                       const Arguments& arguments) {
  const std::vector<Value> values = TRY(iterate(runtime.budget, self));
  const std::int64_t count = TRY(integer_argument(arguments, 0, "slices", 1));
  if (count < 1) {
    return error(ErrorType::kZeroDivisionError, "integer division or modulo by zero");
  }
  TRY(runtime.budget.charge_items(count));
  const Value* fill = arguments.find(1, "fill_with");
  const auto size = static_cast<std::int64_t>(values.size());
  std::vector<Value> out;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_long = i < size % count;
    const std::int64_t end = at + size / count + (is_long ? 1 : 0);
    std::vector<Value> part(values.begin() + at, values.begin() + end);
    if (fill != nullptr && !fill->is_none() && !is_long) {
      part.push_back(*fill);
    }
    out.push_back(TRY(make_sequence(runtime.budget, std::move(part))));
    at = end;
  }
  return out;
}

Result<Value> slice(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return make_generator(runtime.budget, slice_items(runtime, self, arguments));
}

constexpr std::array<Function, 17> kFilters = {{
    {"batch", batch, "linecount fill_with", 1},
    {"count", length, "", 0},
    {"dictsort", dictsort, "case_sensitive by reverse", 0},
    {"first", first, "", 0},
    {"groupby", groupby, "attribute default case_sensitive", 1},
    {"items", items, "", 0},
    {"join", join, "d attribute", 0},
    {"last", last, "", 0},
    {"length", length, "", 0},
    {"list", list, "", 0},
    {"max", extreme<true>, "case_sensitive attribute", 0},
    {"min", extreme<false>, "case_sensitive attribute", 0},
    {"reverse", reverse, "", 0},
    {"slice", slice, "slices fill_with", 1},
    {"sort", sort, "reverse case_sensitive attribute", 0},
    {"sum", sum, "attribute start", 0},
    {"unique", unique, "case_sensitive attribute", 0},
}};

}  // namespace

std::span<const Function> item_filters() {
  return kFilters;
}

}  // namespace godwit::jinja
