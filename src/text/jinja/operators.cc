#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/budget.h"
#include "text/jinja/error.h"
#include "text/jinja/format.h"
#include "text/jinja/runtime.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

std::string_view symbol(BinaryOperator op) {
  switch (op) {
    case BinaryOperator::kAdd:
      return "+";
    case BinaryOperator::kSubtract:
      return "-";
    case BinaryOperator::kMultiply:
      return "*";
    case BinaryOperator::kDivide:
      return "/";
    case BinaryOperator::kFloorDivide:
      return "//";
    case BinaryOperator::kModulo:
      return "%";
    case BinaryOperator::kPower:
      return "** or pow()";
  }
  return "?";
}

Status overflow() {
  return error(ErrorType::kOverflowError, "an integer of the template does not fit 128 bits");
}

Status unsupported(BinaryOperator op, const Value& left, const Value& right) {
  const std::string right_type(right.type_name());
  if (op == BinaryOperator::kAdd && left.is_string()) {
    return type_error("can only concatenate str (not \"" + right_type + "\") to str");
  }
  if (op == BinaryOperator::kAdd &&
      (left.is_sequence(SequenceKind::kList) || left.is_sequence(SequenceKind::kTuple))) {
    const std::string type(left.type_name());
    return type_error("can only concatenate " + type + " (not \"" + right_type + "\") to " + type);
  }
  return type_error("unsupported operand type(s) for " + std::string(symbol(op)) + ": '" +
                    std::string(left.type_name()) + "' and '" + right_type + "'");
}

Status zero_division(std::string_view message) {
  return error(ErrorType::kZeroDivisionError, message);
}

Result<Value> integer_power(Integer base, Integer exponent) {
  if (exponent < 0) {
    if (base == 0) {
      return zero_division("0.0 cannot be raised to a negative power");
    }
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  Integer result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) {
      return overflow();
    }
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) {
      return overflow();
    }
  }
  return Value(result);
}

Result<Value> apply_integers(BinaryOperator op, Integer left, Integer right) {
  Integer result = 0;
  switch (op) {
    case BinaryOperator::kAdd:
      return __builtin_add_overflow(left, right, &result) ? Result<Value>(overflow())
                                                          : Value(result);
    case BinaryOperator::kSubtract:
      return __builtin_sub_overflow(left, right, &result) ? Result<Value>(overflow())
                                                          : Value(result);
    case BinaryOperator::kMultiply:
      return __builtin_mul_overflow(left, right, &result) ? Result<Value>(overflow())
                                                          : Value(result);
    case BinaryOperator::kDivide:
      if (right == 0) {
        return zero_division("division by zero");
      }
      return Value(static_cast<double>(left) / static_cast<double>(right));
    case BinaryOperator::kPower:
      return integer_power(left, right);
    case BinaryOperator::kFloorDivide:
    case BinaryOperator::kModulo:
      break;
  }
  const bool is_modulo = op == BinaryOperator::kModulo;
  if (right == 0) {
    return zero_division(is_modulo ? "integer modulo by zero"
                                   : "integer division or modulo by zero");
  }
  if (right == -1) {
    // The quotient of the least integer would not fit.
    return is_modulo ? Value(Integer{0}) : negate(Value(left));
  }
  Integer quotient = left / right;
  Integer rest = left % right;
  if (rest != 0 && (rest < 0) != (right < 0)) {
    rest += right;
    --quotient;
  }
  return Value(is_modulo ? rest : quotient);
}

Result<Value> apply_floats(BinaryOperator op, double left, double right) {
  switch (op) {
    case BinaryOperator::kAdd:
      return Value(left + right);
    case BinaryOperator::kSubtract:
      return Value(left - right);
    case BinaryOperator::kMultiply:
      return Value(left * right);
    case BinaryOperator::kDivide:
      if (right == 0) {
        return zero_division("float division by zero");
      }
      return Value(left / right);
    case BinaryOperator::kPower:
      if (left == 0 && right < 0) {
        return zero_division("0.0 cannot be raised to a negative power");
      }
      return Value(std::pow(left, right));
    case BinaryOperator::kFloorDivide:
    case BinaryOperator::kModulo:
      break;
  }
  if (right == 0) {
    return zero_division(op == BinaryOperator::kModulo ? "float modulo"
                                                       : "float floor division by zero");
  }
  double rest = std::fmod(left, right);
  if (rest != 0 && (rest < 0) != (right < 0)) {
    rest += right;
  }
  return Value(op == BinaryOperator::kModulo ? rest : std::floor((left - rest) / right + 0.5));
}

Result<Value> add_strings(Runtime& runtime, const Value& left, const Value& right) {
  TRY(runtime.budget.charge_bytes(left.as_string().size() + right.as_string().size()));
  if (left.is_markup() || right.is_markup()) {
    std::string text = TRY(to_escaped(runtime.budget, left));
    text += TRY(to_escaped(runtime.budget, right));
    return Value(std::move(text), true);
  }
  return Value(left.as_string() + right.as_string());
}

Result<Value> repeat(Runtime& runtime, const Value& value, Integer count) {
  count = std::max(count, Integer{0});
  if (value.is_string()) {
    const std::string& text = value.as_string();
    const Integer size = Integer{text.size()} * std::min(count, Integer{INT64_MAX});
    TRY(runtime.budget.charge_bytes(static_cast<std::size_t>(std::min(size, Integer{INT64_MAX}))));
    std::string out;
    out.reserve(static_cast<std::size_t>(size));
    for (Integer i = 0; i < count && !text.empty(); ++i) {
      out += text;
    }
    return Value(std::move(out), value.is_markup());
  }
  const Sequence& sequence = *value.as_sequence();
  const Integer size = Integer{sequence.items.size()} * std::min(count, Integer{INT64_MAX});
  TRY(runtime.budget.charge_items(
      static_cast<std::int64_t>(std::min(size, Integer{INT64_MAX / 2}))));
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(size));
  for (Integer i = 0; i < count && !sequence.items.empty(); ++i) {
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  }
  return make_sequence(runtime.budget, std::move(items), sequence.kind);
}

bool is_repeatable(const Value& value) {
  return value.is_string() || value.is_sequence(SequenceKind::kList) ||
         value.is_sequence(SequenceKind::kTuple);
}

Result<bool> equal_items(Budget& budget, const std::vector<Value>& left,
                         const std::vector<Value>& right) {
  if (left.size() != right.size()) {
    return false;
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!TRY(equal(budget, left[i], right[i]))) {
      return false;
    }
  }
  return true;
}

Result<bool> equal_dicts(Budget& budget, const Dict& left, const Dict& right) {
  if (left.members.size() != right.members.size()) {
    return false;
  }
  for (const Member& member : left.members) {
    const Value* other = right.find(member.first);
    if (other == nullptr || !TRY(equal(budget, member.second, *other))) {
      return false;
    }
  }
  return true;
}

bool is_tuple(const Value& value) {
  return value.is_sequence(SequenceKind::kTuple) || value.is_sequence(SequenceKind::kGroup);
}

Status no_order(std::string_view op, const Value& left, const Value& right) {
  return type_error("'" + std::string(op) + "' not supported between instances of '" +
                    std::string(left.type_name()) + "' and '" + std::string(right.type_name()) +
                    "'");
}

/// Python's <, naming `op` in the error, since > asks the same question the other way round.
Result<bool> is_less(Budget& budget, const Value& left, const Value& right, std::string_view op,
                     bool swapped) {
  const DepthGuard guard(budget);
  if (!guard.status().ok()) {
    return guard.status();
  }
  TRY(budget.charge(1));
  for (const Value* side : {&left, &right}) {
    if (side->is_undefined()) {
      return side->as_undefined().failure();
    }
  }
  if (left.is_integer() && right.is_integer()) {
    return left.as_integer() < right.as_integer();
  }
  if (left.is_number() && right.is_number()) {
    return left.as_double() < right.as_double();
  }
  if (left.is_string() && right.is_string()) {
    TRY(budget.charge_bytes(std::min(left.as_string().size(), right.as_string().size())));
    return left.as_string() < right.as_string();
  }
  const bool both_lists =
      left.is_sequence(SequenceKind::kList) && right.is_sequence(SequenceKind::kList);
  if (both_lists || (is_tuple(left) && is_tuple(right))) {
    const std::vector<Value>& a = left.as_sequence()->items;
    const std::vector<Value>& b = right.as_sequence()->items;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (!TRY(equal(budget, a[i], b[i]))) {
        return is_less(budget, a[i], b[i], op, swapped);
      }
    }
    return a.size() < b.size();
  }
  return swapped ? no_order(op, right, left) : no_order(op, left, right);
}

}  // namespace

Result<Value> apply(Runtime& runtime, BinaryOperator op, const Value& left, const Value& right) {
  if (op == BinaryOperator::kModulo && left.is_string()) {
    return format_percent(runtime, left, right);
  }
  for (const Value* side : {&left, &right}) {
    if (side->is_undefined()) {
      return side->as_undefined().failure();
    }
  }
  if (left.is_integer() && right.is_integer()) {
    return apply_integers(op, left.as_integer(), right.as_integer());
  }
  if (left.is_number() && right.is_number()) {
    return apply_floats(op, left.as_double(), right.as_double());
  }
  if (op == BinaryOperator::kAdd) {
    if (left.is_string() && right.is_string()) {
      return add_strings(runtime, left, right);
    }
    const bool both_lists =
        left.is_sequence(SequenceKind::kList) && right.is_sequence(SequenceKind::kList);
    if (both_lists || (is_tuple(left) && is_tuple(right))) {
      const Sequence& a = *left.as_sequence();
      const Sequence& b = *right.as_sequence();
      TRY(runtime.budget.charge_items(static_cast<std::int64_t>(a.items.size() + b.items.size())));
      std::vector<Value> items = a.items;
      items.insert(items.end(), b.items.begin(), b.items.end());
      return make_sequence(runtime.budget, std::move(items),
                           both_lists ? SequenceKind::kList : SequenceKind::kTuple);
    }
  }
  if (op == BinaryOperator::kMultiply) {
    if (is_repeatable(left) && right.is_integer()) {
      return repeat(runtime, left, right.as_integer());
    }
    if (left.is_integer() && is_repeatable(right)) {
      return repeat(runtime, right, left.as_integer());
    }
  }
  return unsupported(op, left, right);
}

Result<Value> negate(const Value& value) {
  if (value.is_undefined()) {
    return value.as_undefined().failure();
  }
  if (value.is_integer()) {
    Integer result = 0;
    return __builtin_sub_overflow(Integer{0}, value.as_integer(), &result)
               ? Result<Value>(overflow())
               : Value(result);
  }
  if (value.is(Kind::kFloat)) {
    return Value(-value.as_double());
  }
  return type_error("bad operand type for unary -: '" + std::string(value.type_name()) + "'");
}

Result<Value> affirm(const Value& value) {
  if (value.is_undefined()) {
    return value.as_undefined().failure();
  }
  if (value.is_integer()) {
    return Value(value.as_integer());
  }
  if (value.is(Kind::kFloat)) {
    return value;
  }
  return type_error("bad operand type for unary +: '" + std::string(value.type_name()) + "'");
}

Result<bool> equal(Budget& budget, const Value& left, const Value& right) {
  const DepthGuard guard(budget);
  if (!guard.status().ok()) {
    return guard.status();
  }
  TRY(budget.charge(1));
  if (left.is_string() && right.is_string()) {
    TRY(budget.charge_bytes(std::min(left.as_string().size(), right.as_string().size())));
    return left.as_string() == right.as_string();
  }
  if (left.is_integer() && right.is_integer()) {
    return left.as_integer() == right.as_integer();
  }
  if (left.is_number() && right.is_number()) {
    return left.as_double() == right.as_double();
  }
  if (left.is(Kind::kSequence) && right.is(Kind::kSequence)) {
    if (left.as_sequence() == right.as_sequence()) {
      return true;
    }
    const bool same_kind = (is_tuple(left) && is_tuple(right)) ||
                           left.as_sequence()->kind == right.as_sequence()->kind;
    if (!same_kind || left.is_sequence(SequenceKind::kGenerator) ||
        left.is_sequence(SequenceKind::kDictValues)) {
      return false;
    }
    return equal_items(budget, left.as_sequence()->items, right.as_sequence()->items);
  }
  if (left.is(Kind::kDict) && right.is(Kind::kDict)) {
    return left.as_dict() == right.as_dict() ||
           TRY(equal_dicts(budget, *left.as_dict(), *right.as_dict()));
  }
  if (left.is(Kind::kRange) && right.is(Kind::kRange)) {
    const Range& a = left.as_range();
    const Range& b = right.as_range();
    const std::int64_t size = a.size();
    return size == b.size() &&
           (size == 0 || (a.start == b.start && (size == 1 || a.step == b.step)));
  }
  return left.is_same(right);
}

Result<bool> less(Budget& budget, const Value& left, const Value& right) {
  return is_less(budget, left, right, "<", false);
}

Result<bool> contains(Budget& budget, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kUndefined:
      if (container.as_undefined().is_unsafe) {
        return container.as_undefined().failure();
      }
      return false;
    case Kind::kString:
      if (!item.is_string()) {
        return type_error("'in <string>' requires string as left operand, not " +
                          std::string(item.type_name()));
      }
      TRY(budget.charge_bytes(container.as_string().size()));
      return container.as_string().find(item.as_string()) != std::string::npos;
    case Kind::kDict:
      if (!is_hashable(item)) {
        return type_error("unhashable type: '" + std::string(item.type_name()) + "'");
      }
      TRY(budget.charge(1));
      return container.as_dict()->find(item) != nullptr;
    case Kind::kSequence: {
      if (container.is_sequence(SequenceKind::kGenerator)) {
        break;
      }
      for (const Value& candidate : container.as_sequence()->items) {
        if (TRY(equal(budget, candidate, item))) {
          return true;
        }
      }
      return false;
    }
    default:
      break;
  }
  if (!is_iterable(container)) {
    return type_error("argument of type '" + std::string(container.type_name()) +
                      "' is not iterable");
  }
  for (const Value& candidate : TRY(iterate(budget, container))) {
    if (TRY(equal(budget, candidate, item))) {
      return true;
    }
  }
  return false;
}

Result<bool> compare(Budget& budget, CompareOperator op, const Value& left, const Value& right) {
  switch (op) {
    case CompareOperator::kEqual:
      return equal(budget, left, right);
    case CompareOperator::kNotEqual:
      return !TRY(equal(budget, left, right));
    case CompareOperator::kLess:
      return is_less(budget, left, right, "<", false);
    case CompareOperator::kGreater:
      return is_less(budget, right, left, ">", true);
    case CompareOperator::kIn:
      return contains(budget, right, left);
    case CompareOperator::kNotIn:
      return !TRY(contains(budget, right, left));
    case CompareOperator::kLessEqual:
    case CompareOperator::kGreaterEqual:
      break;
  }
  const bool is_at_most = op == CompareOperator::kLessEqual;
  const Value& low = is_at_most ? left : right;
  const Value& high = is_at_most ? right : left;
  if (TRY(is_less(budget, low, high, is_at_most ? "<=" : ">=", !is_at_most))) {
    return true;
  }
  return equal(budget, low, high);
}

Result<std::vector<std::size_t>> sort_places(
    std::size_t size, const std::function<Result<bool>(std::size_t, std::size_t)>& before) {
  std::vector<std::size_t> places(size);
  for (std::size_t i = 0; i < size; ++i) {
    places[i] = i;
  }
  // A merge sort of our own: std::sort demands an order that holds, and NaN has none.
  std::vector<std::size_t> merged(size);
  for (std::size_t width = 1; width < size; width *= 2) {
    for (std::size_t low = 0; low < size; low += 2 * width) {
      const std::size_t middle = std::min(low + width, size);
      const std::size_t high = std::min(low + 2 * width, size);
      std::size_t left = low;
      std::size_t right = middle;
      for (std::size_t out = low; out < high; ++out) {
        const bool take_right =
            left == middle || (right < high && TRY(before(places[right], places[left])));
        merged[out] = take_right ? places[right++] : places[left++];
      }
    }
    places.swap(merged);
  }
  return places;
}

Status sort_members(Budget& budget, std::vector<Member>& members) {
  const std::vector<std::size_t> places =
      TRY(sort_places(members.size(), [&](std::size_t left, std::size_t right) {
        return less(budget, members[left].first, members[right].first);
      }));
  std::vector<Member> sorted;
  sorted.reserve(members.size());
  for (const std::size_t place : places) {
    sorted.push_back(members[place]);
  }
  members = std::move(sorted);
  return {};
}

}  // namespace godwit::jinja
