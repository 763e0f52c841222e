#include "text/jinja/predicates.h"

#include <array>
#include <string>
#include <string_view>

#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"
#include "text/jinja/string_operations.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

template <bool (*kHolds)(const Value&)>
Result<Value> holds(Runtime& /*runtime*/, const Value& self, const Arguments& /*arguments*/) {
  return Value(kHolds(self));
}

template <CompareOperator kOperator>
Result<Value> compares(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return Value(TRY(compare(runtime.budget, kOperator, self, *arguments.find(0, "other"))));
}

bool is_boolean(const Value& value) {
  return value.is(Kind::kBool);
}

bool is_defined(const Value& value) {
  return !value.is_undefined();
}

bool is_undefined(const Value& value) {
  return value.is_undefined();
}

bool is_none(const Value& value) {
  return value.is_none();
}

bool is_true(const Value& value) {
  return value.is(Kind::kBool) && value.as_bool();
}

bool is_false(const Value& value) {
  return value.is(Kind::kBool) && !value.as_bool();
}

bool is_plain_integer(const Value& value) {
  return value.is(Kind::kInt);
}

bool is_float(const Value& value) {
  return value.is(Kind::kFloat);
}

bool is_number(const Value& value) {
  return value.is_number();
}

bool is_string(const Value& value) {
  return value.is_string();
}

bool is_mapping(const Value& value) {
  return value.is(Kind::kDict);
}

bool is_escaped(const Value& value) {
  return value.is_markup();
}

/// What has a length and places. Undefined has both in Python.
bool is_sequence(const Value& value) {
  if (value.is(Kind::kSequence)) {
    return value.as_sequence()->kind <= SequenceKind::kGroup;
  }
  return value.is_undefined() || value.is_string() || value.is(Kind::kDict) ||
         value.is(Kind::kRange);
}

bool is_callable(const Value& value) {
  return value.is(Kind::kFunction) || value.is(Kind::kMacro) || value.is(Kind::kJoiner) ||
         value.is(Kind::kLoop) || value.is_undefined();
}

Result<Value> is_lower(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  return Value(is_lower_text(TRY(to_text(runtime.budget, self))));
}

Result<Value> is_upper(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  return Value(is_upper_text(TRY(to_text(runtime.budget, self))));
}

Result<Value> is_divisible(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Value rest = TRY(apply(runtime, BinaryOperator::kModulo, self, *arguments.find(0, "num")));
  return Value(rest.is_number() && rest.as_double() == 0);
}

Result<Value> is_odd(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  const Value rest = TRY(apply(runtime, BinaryOperator::kModulo, self, Value(Integer{2})));
  return Value(rest.is_number() && rest.as_double() == 1);
}

Result<Value> is_even(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  const Value rest = TRY(apply(runtime, BinaryOperator::kModulo, self, Value(Integer{2})));
  return Value(rest.is_number() && rest.as_double() == 0);
}

Result<Value> is_same_as(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  return Value(self.is_same(*arguments.find(0, "other")));
}

Result<Value> is_filter(Runtime& /*runtime*/, const Value& self, const Arguments& /*arguments*/) {
  return Value(self.is_string() && find_filter(self.as_string()) != nullptr);
}

Result<Value> is_test(Runtime& /*runtime*/, const Value& self, const Arguments& /*arguments*/) {
  return Value(self.is_string() && find_test(self.as_string()) != nullptr);
}

constexpr std::array<Function, 39> kTests = {{
    {"!=", compares<CompareOperator::kNotEqual>, "other", 1},
    {"<", compares<CompareOperator::kLess>, "other", 1},
    {"<=", compares<CompareOperator::kLessEqual>, "other", 1},
    {"==", compares<CompareOperator::kEqual>, "other", 1},
    {">", compares<CompareOperator::kGreater>, "other", 1},
    {">=", compares<CompareOperator::kGreaterEqual>, "other", 1},
    {"boolean", holds<is_boolean>, "", 0},
    {"callable", holds<is_callable>, "", 0},
    {"defined", holds<is_defined>, "", 0},
    {"divisibleby", is_divisible, "num", 1},
    {"eq", compares<CompareOperator::kEqual>, "other", 1},
    {"equalto", compares<CompareOperator::kEqual>, "other", 1},
    {"escaped", holds<is_escaped>, "", 0},
    {"even", is_even, "", 0},
    {"false", holds<is_false>, "", 0},
    {"filter", is_filter, "", 0},
    {"float", holds<is_float>, "", 0},
    {"ge", compares<CompareOperator::kGreaterEqual>, "other", 1},
    {"greaterthan", compares<CompareOperator::kGreater>, "other", 1},
    {"gt", compares<CompareOperator::kGreater>, "other", 1},
    {"in", compares<CompareOperator::kIn>, "other", 1},
    {"integer", holds<is_plain_integer>, "", 0},
    {"iterable", holds<is_iterable>, "", 0},
    {"le", compares<CompareOperator::kLessEqual>, "other", 1},
    {"lessthan", compares<CompareOperator::kLess>, "other", 1},
    {"lower", is_lower, "", 0},
    {"lt", compares<CompareOperator::kLess>, "other", 1},
    {"mapping", holds<is_mapping>, "", 0},
    {"ne", compares<CompareOperator::kNotEqual>, "other", 1},
    {"none", holds<is_none>, "", 0},
    {"number", holds<is_number>, "", 0},
    {"odd", is_odd, "", 0},
    {"sameas", is_same_as, "other", 1},
    {"sequence", holds<is_sequence>, "", 0},
    {"string", holds<is_string>, "", 0},
    {"test", is_test, "", 0},
    {"true", holds<is_true>, "", 0},
    {"undefined", holds<is_undefined>, "", 0},
    {"upper", is_upper, "", 0},
}};

}  // namespace

const Function* find_test(std::string_view name) {
  for (const Function& function : kTests) {
    if (function.name == name) {
      return &function;
    }
  }
  return nullptr;
}

}  // namespace godwit::jinja
