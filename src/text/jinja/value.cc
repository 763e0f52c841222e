#include "text/jinja/value.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "text/jinja/budget.h"
#include "text/jinja/error.h"
#include "text/jinja/runtime.h"
#include "text/jinja/unicode.h"

namespace godwit::jinja {
namespace {

/// Dicts of more members than this have an index.
constexpr std::size_t kIndexFrom = 16;

bool is_tuple(const Value& value) {
  return value.is_sequence(SequenceKind::kTuple) || value.is_sequence(SequenceKind::kGroup);
}

/// Python's == among keys, where 1, 1.0 and true are one key.
bool same_key(const Value& left, const Value& right) {
  if (left.is_string() && right.is_string()) {
    return left.as_string() == right.as_string();
  }
  if (left.is_integer() && right.is_integer()) {
    return left.as_integer() == right.as_integer();
  }
  if (left.is_number() && right.is_number()) {
    return left.as_double() == right.as_double();
  }
  if (is_tuple(left) && is_tuple(right)) {
    const std::vector<Value>& a = left.as_sequence()->items;
    const std::vector<Value>& b = right.as_sequence()->items;
    if (a.size() != b.size()) {
      return false;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!same_key(a[i], b[i])) {
        return false;
      }
    }
    return true;
  }
  return left.is_same(right);
}

std::size_t hash_of(const Value& key) {
  if (key.is_string()) {
    return std::hash<std::string_view>()(key.as_string());
  }
  if (key.is_number()) {
    return std::hash<double>()(key.as_double());
  }
  // Tuples and objects are rare as keys: they share a few buckets.
  return static_cast<std::size_t>(key.kind());
}

}  // namespace

Status Undefined::failure() const {
  if (is_unsafe) {
    return error(ErrorType::kSecurityError,
                 "access to attribute '" + name + "' of '" + object_type + "' object is unsafe.");
  }
  if (!message.empty()) {
    return error(ErrorType::kUndefinedError, message);
  }
  if (object_type.empty()) {
    return error(ErrorType::kUndefinedError, "'" + name + "' is undefined");
  }
  if (is_index) {
    return error(ErrorType::kUndefinedError, object_type + " has no element " + name);
  }
  return error(ErrorType::kUndefinedError, "'" + object_type + "' has no attribute '" + name + "'");
}

std::int64_t Range::size() const {
  const Integer distance = step > 0 ? Integer{stop} - start : Integer{start} - stop;
  if (distance <= 0) {
    return 0;
  }
  const Integer stride = step > 0 ? Integer{step} : -Integer{step};
  const Integer count = (distance + stride - 1) / stride;
  constexpr Integer kMost = INT64_MAX;
  return static_cast<std::int64_t>(count < kMost ? count : kMost);
}

bool Value::is_sequence(SequenceKind kind) const {
  return is(Kind::kSequence) && as_sequence()->kind == kind;
}

Integer Value::as_integer() const {
  return is(Kind::kBool) ? Integer{as_bool() ? 1 : 0} : std::get<Integer>(data_);
}

double Value::as_double() const {
  return is(Kind::kFloat) ? std::get<double>(data_) : static_cast<double>(as_integer());
}

bool Value::is_same(const Value& other) const {
  if (kind() != other.kind()) {
    return false;
  }
  if (is_undefined()) {
    return true;
  }
  if (is_string()) {
    return as_string() == other.as_string();
  }
  return data_ == other.data_;
}

int Value::depth() const {
  switch (kind()) {
    case Kind::kSequence:
      return as_sequence()->depth;
    case Kind::kDict:
      return as_dict()->depth;
    case Kind::kFunction:
      return as_function().self.depth() + 1;
    case Kind::kLoop:
      return as_loop()->depth_of_items + 1;
    case Kind::kCycler:
      return as_cycler()->depth;
    case Kind::kJoiner:
      return as_joiner()->separator.depth() + 1;
    default:
      return 0;
  }
}

bool Value::truthy() const {
  switch (kind()) {
    case Kind::kNone:
    case Kind::kUndefined:
      return false;
    case Kind::kBool:
      return as_bool();
    case Kind::kInt:
      return as_integer() != 0;
    case Kind::kFloat:
      return as_double() != 0.0;
    case Kind::kString:
      return !as_string().empty();
    case Kind::kSequence:
      return as_sequence()->kind == SequenceKind::kGenerator || !as_sequence()->items.empty();
    case Kind::kDict:
      return !as_dict()->members.empty();
    case Kind::kRange:
      return as_range().size() > 0;
    default:
      return true;
  }
}

std::string_view Value::type_name() const {
  switch (kind()) {
    case Kind::kNone:
      return "NoneType";
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return is_markup() ? "Markup" : "str";
    case Kind::kSequence:
      break;
    case Kind::kDict:
      return "dict";
    case Kind::kRange:
      return "range";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kFunction:
      return "builtin_function_or_method";
    case Kind::kMacro:
      return "Macro";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kCycler:
      return "Cycler";
    case Kind::kJoiner:
      return "Joiner";
    case Kind::kOpaque:
      return as_opaque().type;
  }
  switch (as_sequence()->kind) {
    case SequenceKind::kList:
      return "list";
    case SequenceKind::kTuple:
      return "tuple";
    case SequenceKind::kGroup:
      return "_GroupTuple";
    case SequenceKind::kGenerator:
      return "generator";
    case SequenceKind::kDictKeys:
      return "dict_keys";
    case SequenceKind::kDictValues:
      return "dict_values";
    case SequenceKind::kDictItems:
      return "dict_items";
  }
  return "object";
}

const Member* Dict::find_member(const Value& key) const {
  if (members.size() <= kIndexFrom) {
    for (const Member& member : members) {
      if (same_key(member.first, key)) {
        return &member;
      }
    }
    return nullptr;
  }
  const auto [begin, end] = index_.equal_range(hash_of(key));
  for (auto it = begin; it != end; ++it) {
    if (same_key(members[it->second].first, key)) {
      return &members[it->second];
    }
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (members.size() <= kIndexFrom) {
    for (const Member& member : members) {
      if (member.first.is_string() && member.first.as_string() == key) {
        return &member.second;
      }
    }
    return nullptr;
  }
  return find(Value(key));
}

const Value* Dict::find(const Value& key) const {
  const Member* member = find_member(key);
  return member == nullptr ? nullptr : &member->second;
}

void Dict::set(const Value& key, Value value) {
  depth = std::max({depth, key.depth() + 1, value.depth() + 1});
  if (const Member* member = find_member(key); member != nullptr) {
    members[static_cast<std::size_t>(member - members.data())].second = std::move(value);
    return;
  }
  members.emplace_back(key, std::move(value));
  if (members.size() == kIndexFrom + 1) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      index_.emplace(hash_of(members[i].first), i);
    }
  } else if (members.size() > kIndexFrom) {
    index_.emplace(hash_of(key), members.size() - 1);
  }
}

const Value* Namespace::find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) {
      return &value;
    }
  }
  return nullptr;
}

void Namespace::set(std::string_view name, Value value) {
  for (auto& [key, old] : attributes) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  attributes.emplace_back(std::string(name), std::move(value));
}

bool is_hashable(const Value& value) {
  if (value.is(Kind::kDict)) {
    return false;
  }
  if (!value.is(Kind::kSequence)) {
    return true;
  }
  if (!is_tuple(value)) {
    return value.is_sequence(SequenceKind::kGenerator);
  }
  for (const Value& item : value.as_sequence()->items) {
    if (!is_hashable(item)) {
      return false;
    }
  }
  return true;
}

Result<Value> make_sequence(Budget& budget, std::vector<Value> items, SequenceKind kind) {
  TRY(budget.charge_items(static_cast<std::int64_t>(items.size())));
  int depth = 0;
  for (const Value& item : items) {
    depth = std::max(depth, item.depth());
  }
  TRY(budget.check_value_depth(depth + 1));
  return Value(std::make_shared<Sequence>(Sequence{kind, std::move(items), depth + 1, {}}));
}

Result<Value> make_generator(Budget& budget, Result<std::vector<Value>> items) {
  if (items.ok()) {
    return make_sequence(budget, std::move(items).value(), SequenceKind::kGenerator);
  }
  auto generator = std::make_shared<Sequence>();
  generator->kind = SequenceKind::kGenerator;
  generator->failure = items.status();
  return Value(std::move(generator));
}

Result<Value> make_dict(Budget& budget, const std::vector<Member>& members) {
  TRY(budget.charge_items(static_cast<std::int64_t>(members.size())));
  auto dict = std::make_shared<Dict>();
  for (const Member& member : members) {
    if (!is_hashable(member.first)) {
      return type_error("unhashable type: '" + std::string(member.first.type_name()) + "'");
    }
    dict->set(member.first, member.second);
  }
  TRY(budget.check_value_depth(dict->depth));
  return Value(DictRef(std::move(dict)));
}

Result<Value> from_json(Budget& budget, const Json& json, int depth) {
  TRY(budget.check_value_depth(depth));
  TRY(budget.charge(1));
  if (json.is_null()) {
    return Value();
  }
  if (json.is_bool()) {
    return Value(json.as_bool());
  }
  if (json.is_integer()) {
    const auto number = json.to_int64();
    return number ? Value(*number) : Value(Integer{json.to_uint64().value_or(0)});
  }
  if (json.is_double()) {
    return Value(json.as_double());
  }
  if (json.is_string()) {
    TRY(budget.charge_bytes(json.as_string().size()));
    return Value(json.as_string());
  }
  if (json.is_array()) {
    std::vector<Value> items;
    items.reserve(json.as_array().size());
    for (const Json& element : json.as_array()) {
      items.push_back(TRY(from_json(budget, element, depth + 1)));
    }
    return make_sequence(budget, std::move(items));
  }
  auto dict = std::make_shared<Dict>();
  for (const JsonMember& member : json.as_object()) {
    dict->set(Value(member.first), TRY(from_json(budget, member.second, depth + 1)));
  }
  return Value(DictRef(std::move(dict)));
}

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.is_string() || value.is(Kind::kSequence) ||
         value.is(Kind::kDict) || value.is(Kind::kRange) || value.is(Kind::kLoop);
}

Result<std::vector<Value>> iterate(Budget& budget, const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Kind::kUndefined:
      if (value.as_undefined().is_unsafe) {
        return value.as_undefined().failure();
      }
      return items;
    case Kind::kString: {
      TRY(budget.charge_items(static_cast<std::int64_t>(value.as_string().size())));
      for (const std::string_view point : split_code_points(value.as_string())) {
        items.emplace_back(point);
      }
      return items;
    }
    case Kind::kSequence: {
      Sequence& sequence = *value.as_sequence();
      TRY(budget.charge_items(static_cast<std::int64_t>(sequence.items.size())));
      if (sequence.kind == SequenceKind::kGenerator) {
        if (!sequence.failure.ok()) {
          return sequence.failure;
        }
        items.swap(sequence.items);
        return items;
      }
      return sequence.items;
    }
    case Kind::kDict:
      TRY(budget.charge_items(static_cast<std::int64_t>(value.as_dict()->members.size())));
      for (const Member& member : value.as_dict()->members) {
        items.push_back(member.first);
      }
      return items;
    case Kind::kRange: {
      const Range& range = value.as_range();
      const std::int64_t size = range.size();
      TRY(budget.charge_items(size));
      for (std::int64_t i = 0; i < size; ++i) {
        items.emplace_back(range.start + i * range.step);
      }
      return items;
    }
    case Kind::kLoop: {
      Loop& loop = *value.as_loop();
      TRY(budget.charge_items(static_cast<std::int64_t>(loop.items.size())));
      return loop.items;
    }
    default:
      return type_error("'" + std::string(value.type_name()) + "' object is not iterable");
  }
}

std::optional<std::int64_t> length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return length_of(std::string_view(value.as_string()));
    case Kind::kSequence:
      if (value.as_sequence()->kind == SequenceKind::kGenerator) {
        return std::nullopt;
      }
      return static_cast<std::int64_t>(value.as_sequence()->items.size());
    case Kind::kDict:
      return static_cast<std::int64_t>(value.as_dict()->members.size());
    case Kind::kRange:
      return value.as_range().size();
    case Kind::kLoop:
      return static_cast<std::int64_t>(value.as_loop()->items.size());
    default:
      return std::nullopt;
  }
}

std::string describe_object(const Value& value) {
  if (value.is_none()) {
    return "None";
  }
  return std::string(value.type_name()) + " object";
}

}  // namespace godwit::jinja
