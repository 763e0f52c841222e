// Subscripts, attributes and slices of operators.h.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

/// Attributes that every Python object has; the sandbox keeps them away.
constexpr std::array<std::string_view, 8> kUnsafe = {"__class__", "__init__",  "__doc__",
                                                     "__dict__",  "__str__",   "__repr__",
                                                     "__hash__",  "__module__"};

Value missing_attribute(const Value& object, std::string_view name) {
  return Value(Undefined{.name = std::string(name),
                         .object_type = describe_object(object),
                         .is_index = false,
                         .is_unsafe = false,
                         .message = {}});
}

Value unsafe_attribute(const Value& object, std::string_view name) {
  return Value(Undefined{.name = std::string(name),
                         .object_type = std::string(object.type_name()),
                         .is_index = false,
                         .is_unsafe = true,
                         .message = {}});
}

Value loop_item(const Loop& loop, std::int64_t index, std::string_view message) {
  if (index >= 0 && index < static_cast<std::int64_t>(loop.items.size())) {
    return loop.items[static_cast<std::size_t>(index)];
  }
  return Value(Undefined{.name = {},
                         .object_type = {},
                         .is_index = false,
                         .is_unsafe = false,
                         .message = std::string(message)});
}

std::optional<Value> loop_attribute(const Loop& loop, std::string_view name) {
  const auto size = static_cast<std::int64_t>(loop.items.size());
  if (name == "index") {
    return Value(loop.index0 + 1);
  }
  if (name == "index0") {
    return Value(loop.index0);
  }
  if (name == "first") {
    return Value(loop.index0 == 0);
  }
  if (name == "last") {
    return Value(loop.index0 + 1 == size);
  }
  if (name == "length") {
    return Value(size);
  }
  if (name == "revindex") {
    return Value(size - loop.index0);
  }
  if (name == "revindex0") {
    return Value(size - loop.index0 - 1);
  }
  if (name == "depth") {
    return Value(loop.depth0 + 1);
  }
  if (name == "depth0") {
    return Value(loop.depth0);
  }
  if (name == "previtem") {
    return loop_item(loop, loop.index0 - 1, "there is no previous item");
  }
  if (name == "nextitem") {
    return loop_item(loop, loop.index0 + 1, "there is no next item");
  }
  return std::nullopt;
}

/// Attributes that are values rather than methods.
std::optional<Value> data_attribute(const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::kLoop:
      return loop_attribute(*object.as_loop(), name);
    case Kind::kNamespace: {
      const Value* value = object.as_namespace()->find(name);
      return value == nullptr ? std::nullopt : std::optional<Value>(*value);
    }
    case Kind::kCycler: {
      const Cycler& cycler = *object.as_cycler();
      return name == "current" ? std::optional<Value>(cycler.items[cycler.position]) : std::nullopt;
    }
    case Kind::kSequence:
      if (object.as_sequence()->kind == SequenceKind::kGroup) {
        if (name == "grouper") {
          return object.as_sequence()->items[0];
        }
        if (name == "list") {
          return object.as_sequence()->items[1];
        }
      }
      return std::nullopt;
    case Kind::kBool:
    case Kind::kInt:
      if (name == "real" || name == "numerator") {
        return Value(object.as_integer());
      }
      if (name == "imag") {
        return Value(Integer{0});
      }
      return name == "denominator" ? std::optional<Value>(Value(Integer{1})) : std::nullopt;
    case Kind::kFloat:
      if (name == "real") {
        return object;
      }
      return name == "imag" ? std::optional<Value>(Value(0.0)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// What Python's getattr() finds, through the sandbox.
std::optional<Value> find_attribute(const Value& object, std::string_view name) {
  if (!object.is(Kind::kNone) && is_blocked_method(object, name)) {
    return unsafe_attribute(object, name);
  }
  if (const Function* method = find_method(object, name); method != nullptr) {
    return Value(std::make_shared<const BoundFunction>(BoundFunction{method, object}));
  }
  if (std::optional<Value> value = data_attribute(object, name)) {
    return value;
  }
  if (name.substr(0, 2) == "__" &&
      std::find(kUnsafe.begin(), kUnsafe.end(), name) != kUnsafe.end()) {
    return unsafe_attribute(object, name);
  }
  return std::nullopt;
}

std::optional<Value> find_place(const std::vector<Value>& items, Integer index) {
  const Integer size = static_cast<std::int64_t>(items.size());
  if (index < 0) {
    index += size;
  }
  if (index < 0 || index >= size) {
    return std::nullopt;
  }
  return items[static_cast<std::size_t>(index)];
}

Result<std::optional<Value>> find_code_point(Runtime& runtime, const std::string& text,
                                             Integer index, bool is_markup) {
  TRY(runtime.budget.charge_bytes(text.size()));
  if (index < 0) {
    index += length_of(std::string_view(text));
  }
  if (index < 0 || index >= static_cast<std::int64_t>(text.size())) {
    return std::optional<Value>();
  }
  const std::size_t offset = offset_of(text, static_cast<std::int64_t>(index));
  if (offset >= text.size()) {
    return std::optional<Value>();
  }
  const std::string_view rest = std::string_view(text).substr(offset);
  return std::optional<Value>(
      Value(std::string(rest.substr(0, first_code_point(rest).size)), is_markup));
}

/// What `object[index]` finds in a container.
Result<std::optional<Value>> find_item(Runtime& runtime, const Value& object, const Value& index) {
  if (object.is(Kind::kDict)) {
    const Value* value = is_hashable(index) ? object.as_dict()->find(index) : nullptr;
    return value == nullptr ? std::optional<Value>() : std::optional<Value>(*value);
  }
  if (!index.is_integer()) {
    return std::optional<Value>();
  }
  switch (object.kind()) {
    case Kind::kString:
      return find_code_point(runtime, object.as_string(), index.as_integer(), object.is_markup());
    case Kind::kSequence:
      if (object.as_sequence()->kind > SequenceKind::kGroup) {
        return std::optional<Value>();
      }
      return find_place(object.as_sequence()->items, index.as_integer());
    case Kind::kRange: {
      const Range& range = object.as_range();
      Integer place = index.as_integer();
      place += place < 0 ? range.size() : 0;
      if (place < 0 || place >= range.size()) {
        return std::optional<Value>();
      }
      return std::optional<Value>(
          Value(range.start + static_cast<std::int64_t>(place) * range.step));
    }
    default:
      return std::optional<Value>();
  }
}

struct SlicePlan {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

Result<std::optional<std::int64_t>> bound_of(const Value* bound) {
  if (bound == nullptr || bound->is_none()) {
    return std::optional<std::int64_t>();
  }
  if (bound->is_undefined()) {
    return bound->as_undefined().failure();
  }
  if (!bound->is_integer()) {
    return type_error("slice indices must be integers or None or have an __index__ method");
  }
  return std::optional<std::int64_t>(static_cast<std::int64_t>(
      std::clamp(bound->as_integer(), Integer{INT64_MIN / 4}, Integer{INT64_MAX / 4})));
}

Result<SlicePlan> plan_slice(const SliceBounds& bounds, std::int64_t size) {
  SlicePlan plan;
  plan.step = TRY(bound_of(bounds.step)).value_or(1);
  if (plan.step == 0) {
    return value_error("slice step cannot be zero");
  }
  const bool forward = plan.step > 0;
  const std::int64_t lowest = forward ? 0 : -1;
  const std::int64_t highest = forward ? size : size - 1;
  const auto place = [&](std::optional<std::int64_t> bound, std::int64_t fallback) {
    if (!bound) {
      return fallback;
    }
    return std::clamp(*bound < 0 ? *bound + size : *bound, lowest, std::max(lowest, highest));
  };
  plan.start = place(TRY(bound_of(bounds.start)), forward ? lowest : highest);
  const std::int64_t stop = place(TRY(bound_of(bounds.stop)), forward ? highest : lowest);
  plan.count = Range{plan.start, stop, plan.step}.size();
  return plan;
}

}  // namespace

Result<Value> get_item(Runtime& runtime, const Value& object, const Value& index) {
  if (object.is_undefined()) {
    return object.as_undefined().failure();
  }
  if (std::optional<Value> item = TRY(find_item(runtime, object, index))) {
    return *item;
  }
  if (index.is_string()) {
    if (std::optional<Value> attribute = find_attribute(object, index.as_string())) {
      return *attribute;
    }
    return missing_attribute(object, index.as_string());
  }
  return Value(Undefined{.name = TRY(to_repr(runtime.budget, index)),
                         .object_type = describe_object(object),
                         .is_index = true,
                         .is_unsafe = false,
                         .message = {}});
}

Result<Value> get_attribute(Runtime& /*runtime*/, const Value& object, std::string_view name) {
  if (object.is_undefined()) {
    if (std::find(kUnsafe.begin(), kUnsafe.end(), name) != kUnsafe.end()) {
      return unsafe_attribute(object, name);
    }
    return object.as_undefined().failure();
  }
  if (std::optional<Value> attribute = find_attribute(object, name)) {
    return *attribute;
  }
  if (object.is(Kind::kDict)) {
    if (const Value* value = object.as_dict()->find(name); value != nullptr) {
      return *value;
    }
  }
  return missing_attribute(object, name);
}

Result<Value> get_slice(Runtime& runtime, const Value& object, const SliceBounds& bounds) {
  if (object.is_undefined()) {
    return object.as_undefined().failure();
  }
  if (object.is_string()) {
    const std::string& text = object.as_string();
    TRY(runtime.budget.charge_bytes(text.size()));
    const std::vector<std::string_view> points = split_code_points(text);
    const SlicePlan plan = TRY(plan_slice(bounds, static_cast<std::int64_t>(points.size())));
    std::string out;
    for (std::int64_t i = 0; i < plan.count; ++i) {
      out += points[static_cast<std::size_t>(plan.start + i * plan.step)];
    }
    return Value(std::move(out), object.is_markup());
  }
  const bool sliceable =
      object.is(Kind::kSequence) && object.as_sequence()->kind <= SequenceKind::kGroup;
  if (!sliceable && !object.is(Kind::kRange)) {
    return missing_attribute(object, "slice");
  }
  const std::vector<Value> items =
      object.is(Kind::kRange) ? TRY(iterate(runtime.budget, object)) : object.as_sequence()->items;
  const SlicePlan plan = TRY(plan_slice(bounds, static_cast<std::int64_t>(items.size())));
  std::vector<Value> out;
  out.reserve(static_cast<std::size_t>(plan.count));
  for (std::int64_t i = 0; i < plan.count; ++i) {
    out.push_back(items[static_cast<std::size_t>(plan.start + i * plan.step)]);
  }
  SequenceKind kind = SequenceKind::kList;
  if (object.is(Kind::kSequence) && object.as_sequence()->kind != SequenceKind::kList) {
    kind = SequenceKind::kTuple;
  }
  return make_sequence(runtime.budget, std::move(out), kind);
}

}  // namespace godwit::jinja
