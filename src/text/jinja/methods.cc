#include "text/jinja/methods.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

Result<Value> dict_get(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const Value& key = *arguments.find(0, "key");
  if (!is_hashable(key)) {
    return type_error("unhashable type: '" + std::string(key.type_name()) + "'");
  }
  if (const Value* value = self.as_dict()->find(key); value != nullptr) {
    return *value;
  }
  const Value* fallback = arguments.find(1, "default");
  return fallback == nullptr ? Value() : *fallback;
}

Result<Value> dict_keys(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  std::vector<Value> keys = TRY(iterate(runtime.budget, self));
  return make_sequence(runtime.budget, std::move(keys), SequenceKind::kDictKeys);
}

Result<Value> dict_values(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  std::vector<Value> values;
  for (const Member& member : self.as_dict()->members) {
    values.push_back(member.second);
  }
  return make_sequence(runtime.budget, std::move(values), SequenceKind::kDictValues);
}

Result<Value> dict_items(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  std::vector<Value> items;
  for (const Member& member : self.as_dict()->members) {
    items.push_back(
        TRY(make_sequence(runtime.budget, {member.first, member.second}, SequenceKind::kTuple)));
  }
  return make_sequence(runtime.budget, std::move(items), SequenceKind::kDictItems);
}

/// A copy may be the value itself: nothing can change it.
Result<Value> copy(Runtime& /*runtime*/, const Value& self, const Arguments& /*arguments*/) {
  return self;
}

Result<Value> list_index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::vector<Value>& items = self.as_sequence()->items;
  const auto size = static_cast<std::int64_t>(items.size());
  std::int64_t start = TRY(integer_argument(arguments, 1, "start", 0));
  std::int64_t stop = TRY(integer_argument(arguments, 2, "stop", size));
  start = start < 0 ? std::max(start + size, std::int64_t{0}) : start;
  stop = std::min(stop < 0 ? stop + size : stop, size);
  for (std::int64_t i = start; i < stop; ++i) {
    if (TRY(equal(runtime.budget, items[static_cast<std::size_t>(i)],
                  *arguments.find(0, "value")))) {
      return Value(i);
    }
  }
  return value_error("the value is not in the list");
}

Result<Value> list_count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  std::int64_t count = 0;
  for (const Value& item : self.as_sequence()->items) {
    count += TRY(equal(runtime.budget, item, *arguments.find(0, "value"))) ? 1 : 0;
  }
  return Value(count);
}

Result<Value> int_bit_length(Runtime& /*runtime*/, const Value& self,
                             const Arguments& /*arguments*/) {
  Integer rest = self.as_integer();
  std::int64_t bits = 0;
  for (; rest != 0; rest /= 2) {
    ++bits;
  }
  return Value(bits);
}

Result<Value> int_is_integer(Runtime& /*runtime*/, const Value& /*self*/,
                             const Arguments& /*arguments*/) {
  return Value(true);
}

Result<Value> float_is_integer(Runtime& /*runtime*/, const Value& self,
                               const Arguments& /*arguments*/) {
  const double value = self.as_double();
  return Value(std::isfinite(value) && std::floor(value) == value);
}

Result<Value> loop_cycle(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty()) {
    return type_error("no items for cycling given");
  }
  const std::size_t place =
      static_cast<std::size_t>(self.as_loop()->index0) % arguments.positional.size();
  return arguments.positional[place];
}

Result<Value> loop_changed(Runtime& runtime, const Value& self, const Arguments& arguments) {
  Loop& loop = *self.as_loop();
  if (loop.ended) {
    return type_error("loop.changed() is called after its loop");
  }
  bool changed = !loop.has_changed || loop.last_changed.size() != arguments.positional.size();
  for (std::size_t i = 0; !changed && i < arguments.positional.size(); ++i) {
    changed = !TRY(equal(runtime.budget, loop.last_changed[i], arguments.positional[i]));
  }
  loop.has_changed = true;
  loop.last_changed = arguments.positional;
  return Value(changed);
}

Result<Value> cycler_next(Runtime& /*runtime*/, const Value& self, const Arguments& /*arguments*/) {
  Cycler& cycler = *self.as_cycler();
  const Value current = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return current;
}

Result<Value> cycler_reset(Runtime& /*runtime*/, const Value& self,
                           const Arguments& /*arguments*/) {
  self.as_cycler()->position = 0;
  return Value();
}

constexpr std::array<Function, 5> kDictMethods = {{
    {"copy", copy, "", 0},
    {"get", dict_get, "key default", 1},
    {"items", dict_items, "", 0},
    {"keys", dict_keys, "", 0},
    {"values", dict_values, "", 0},
}};

constexpr std::array<Function, 3> kListMethods = {{
    {"copy", copy, "", 0},
    {"count", list_count, "value", 1},
    {"index", list_index, "value start stop", 1},
}};

constexpr std::array<Function, 2> kIntMethods = {{
    {"bit_length", int_bit_length, "", 0},
    {"is_integer", int_is_integer, "", 0},
}};

constexpr std::array<Function, 1> kFloatMethods = {{
    {"is_integer", float_is_integer, "", 0},
}};

constexpr std::array<Function, 2> kLoopMethods = {{
    {"changed", loop_changed, "*", 0},
    {"cycle", loop_cycle, "*", 0},
}};

constexpr std::array<Function, 2> kCyclerMethods = {{
    {"next", cycler_next, "", 0},
    {"reset", cycler_reset, "", 0},
}};

constexpr std::array<std::string_view, 8> kListBlocked = {"append", "clear",  "extend",  "insert",
                                                          "pop",    "remove", "reverse", "sort"};
constexpr std::array<std::string_view, 5> kDictBlocked = {"clear", "pop", "popitem", "setdefault",
                                                          "update"};

const Function* find_in(std::span<const Function> table, std::string_view name) {
  for (const Function& function : table) {
    if (function.name == name) {
      return &function;
    }
  }
  return nullptr;
}

}  // namespace

const Function* find_method(const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::kString:
      return find_string_method(name);
    case Kind::kDict:
      return find_in(kDictMethods, name);
    case Kind::kBool:
    case Kind::kInt:
      return find_in(kIntMethods, name);
    case Kind::kFloat:
      return find_in(kFloatMethods, name);
    case Kind::kLoop:
      return find_in(kLoopMethods, name);
    case Kind::kCycler:
      return find_in(kCyclerMethods, name);
    case Kind::kSequence: {
      if (object.as_sequence()->kind > SequenceKind::kGroup) {
        return nullptr;
      }
      const bool is_list = object.as_sequence()->kind == SequenceKind::kList;
      return !is_list && name == "copy" ? nullptr : find_in(kListMethods, name);
    }
    default:
      return nullptr;
  }
}

bool is_blocked_method(const Value& object, std::string_view name) {
  if (object.is(Kind::kDict)) {
    return std::find(kDictBlocked.begin(), kDictBlocked.end(), name) != kDictBlocked.end();
  }
  return object.is_sequence(SequenceKind::kList) &&
         std::find(kListBlocked.begin(), kListBlocked.end(), name) != kListBlocked.end();
}

}  // namespace godwit::jinja
