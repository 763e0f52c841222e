#pragma once
// Python's operators on values: arithmetic, comparison, membership, subscripts and sorting.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace godwit::jinja {

enum class BinaryOperator { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };

enum class CompareOperator {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

Result<Value> apply(Runtime& runtime, BinaryOperator op, const Value& left, const Value& right);
Result<Value> negate(const Value& value);
Result<Value> affirm(const Value& value);

/// Python's ==. Errors: the limits.
Result<bool> equal(Budget& budget, const Value& left, const Value& right);
/// Python's <. Errors: TypeError when there is no order.
Result<bool> less(Budget& budget, const Value& left, const Value& right);
/// Python's `item in container`.
Result<bool> contains(Budget& budget, const Value& container, const Value& item);
Result<bool> compare(Budget& budget, CompareOperator op, const Value& left, const Value& right);

/// Sorts the places 0..size-1 stably by a comparison that may fail.
Result<std::vector<std::size_t>> sort_places(
    std::size_t size, const std::function<Result<bool>(std::size_t, std::size_t)>& before);
/// Sorts members by key.
Status sort_members(Budget& budget, std::vector<Member>& members);

/// A slice; a null pointer stands for a bound that is not given.
struct SliceBounds {
  const Value* start = nullptr;
  const Value* stop = nullptr;
  const Value* step = nullptr;
};

/// `value[index]` and `value.name`, as the sandbox of Jinja resolves them: the first looks for a
/// member before an attribute, the second the other way round. What is missing gives an Undefined.
Result<Value> get_item(Runtime& runtime, const Value& object, const Value& index);
Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name);
Result<Value> get_slice(Runtime& runtime, const Value& object, const SliceBounds& bounds);

}  // namespace godwit::jinja
