#pragma once
// The values a template computes with, which behave as Python's: none, numbers, strings, lists,
// dicts, and the objects that only templates know. Copying a Value is cheap; what Python shares by
// reference is shared here too.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "text/jinja/budget.h"

namespace godwit::jinja {

/// Wide enough for what 64-bit numbers give when multiplied or added; beyond it is an
/// OverflowError.
using Integer = __int128;

class Value;
struct Function;
struct Macro;
struct Loop;

enum class Kind {
  kNone,
  kUndefined,
  kBool,
  kInt,
  kFloat,
  kString,
  kSequence,
  kDict,
  kRange,
  kNamespace,
  kFunction,
  kMacro,
  kLoop,
  kCycler,
  kJoiner,
  kOpaque,
};

/// What a missing name or attribute gives: prints nothing, is false, and fails when it is used.
struct Undefined {
  std::string name;         ///< The name, attribute or index looked for.
  std::string object_type;  ///< What it was looked for in; empty for a variable.
  bool is_index = false;    ///< `name` is the repr of an index, not an attribute.
  bool is_unsafe = false;   ///< The attribute exists, but the sandbox keeps it away.
  std::string message;      ///< Replaces the usual message.

  [[nodiscard]] Status failure() const;
};

struct Text {
  std::string text;
  bool is_markup = false;  ///< Already escaped for HTML.
};

enum class SequenceKind {
  kList,
  kTuple,
  kGroup,      ///< A tuple (grouper, list) with these attribute names.
  kGenerator,  ///< Can be read once; always true; has no length.
  kDictKeys,
  kDictValues,
  kDictItems,
};

struct Sequence {
  SequenceKind kind = SequenceKind::kList;
  std::vector<Value> items;
  int depth = 1;
  Status failure = {};  ///< Of a generator: what reading it ends in.
};

/// First, step and count of range().
struct Range {
  std::int64_t start = 0;
  std::int64_t stop = 0;
  std::int64_t step = 1;

  [[nodiscard]] std::int64_t size() const;
};

/// Something that only prints.
struct Opaque {
  std::string type;
  std::string text;
};

struct Dict;
struct Namespace;
struct BoundFunction;
struct Cycler;
struct Joiner;

using TextRef = std::shared_ptr<const Text>;
using SequenceRef = std::shared_ptr<Sequence>;
using DictRef = std::shared_ptr<const Dict>;

class Value {
 public:
  Value() = default;  ///< None.
  explicit Value(bool value) : data_(value) {}
  explicit Value(Integer value) : data_(value) {}
  explicit Value(std::int64_t value) : data_(Integer{value}) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(std::string text, bool is_markup = false)
      : data_(std::make_shared<const Text>(Text{std::move(text), is_markup})) {}
  explicit Value(std::string_view text) : Value(std::string(text)) {}
  explicit Value(const char* text) = delete;
  explicit Value(SequenceRef value) : data_(std::move(value)) {}
  explicit Value(DictRef value) : data_(std::move(value)) {}
  explicit Value(Range value) : data_(std::make_shared<const Range>(value)) {}
  explicit Value(Undefined value) : data_(std::make_shared<const Undefined>(std::move(value))) {}
  explicit Value(std::shared_ptr<Namespace> value) : data_(std::move(value)) {}
  explicit Value(std::shared_ptr<const BoundFunction> value) : data_(std::move(value)) {}
  explicit Value(std::shared_ptr<const Macro> value) : data_(std::move(value)) {}
  explicit Value(std::shared_ptr<Loop> value) : data_(std::move(value)) {}
  explicit Value(std::shared_ptr<Cycler> value) : data_(std::move(value)) {}
  explicit Value(std::shared_ptr<Joiner> value) : data_(std::move(value)) {}
  explicit Value(Opaque value) : data_(std::make_shared<const Opaque>(std::move(value))) {}

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(data_.index()); }
  [[nodiscard]] bool is(Kind kind) const { return this->kind() == kind; }
  [[nodiscard]] bool is_none() const { return is(Kind::kNone); }
  [[nodiscard]] bool is_undefined() const { return is(Kind::kUndefined); }
  [[nodiscard]] bool is_string() const { return is(Kind::kString); }
  /// Holds for integers and, as in Python, booleans.
  [[nodiscard]] bool is_integer() const { return is(Kind::kInt) || is(Kind::kBool); }
  [[nodiscard]] bool is_number() const { return is_integer() || is(Kind::kFloat); }
  [[nodiscard]] bool is_sequence(SequenceKind kind) const;

  // Each accessor demands its kind; ask first.
  [[nodiscard]] bool as_bool() const { return std::get<bool>(data_); }
  [[nodiscard]] Integer as_integer() const;  ///< Of an integer or boolean.
  [[nodiscard]] double as_double() const;    ///< Of any number.
  [[nodiscard]] const std::string& as_string() const { return std::get<TextRef>(data_)->text; }
  [[nodiscard]] bool is_markup() const {
    return is_string() && std::get<TextRef>(data_)->is_markup;
  }
  [[nodiscard]] const Undefined& as_undefined() const {
    return *std::get<std::shared_ptr<const Undefined>>(data_);
  }
  [[nodiscard]] const SequenceRef& as_sequence() const { return std::get<SequenceRef>(data_); }
  [[nodiscard]] const DictRef& as_dict() const { return std::get<DictRef>(data_); }
  [[nodiscard]] const Range& as_range() const {
    return *std::get<std::shared_ptr<const Range>>(data_);
  }
  [[nodiscard]] const std::shared_ptr<Namespace>& as_namespace() const {
    return std::get<std::shared_ptr<Namespace>>(data_);
  }
  [[nodiscard]] const BoundFunction& as_function() const {
    return *std::get<std::shared_ptr<const BoundFunction>>(data_);
  }
  [[nodiscard]] const std::shared_ptr<const Macro>& as_macro() const {
    return std::get<std::shared_ptr<const Macro>>(data_);
  }
  [[nodiscard]] const std::shared_ptr<Loop>& as_loop() const {
    return std::get<std::shared_ptr<Loop>>(data_);
  }
  [[nodiscard]] const std::shared_ptr<Cycler>& as_cycler() const {
    return std::get<std::shared_ptr<Cycler>>(data_);
  }
  [[nodiscard]] const std::shared_ptr<Joiner>& as_joiner() const {
    return std::get<std::shared_ptr<Joiner>>(data_);
  }
  [[nodiscard]] const Opaque& as_opaque() const {
    return *std::get<std::shared_ptr<const Opaque>>(data_);
  }

  /// `a is b` of Python.
  [[nodiscard]] bool is_same(const Value& other) const;
  /// Levels of lists and dicts.
  [[nodiscard]] int depth() const;
  /// Python's bool().
  [[nodiscard]] bool truthy() const;
  /// Python's type(x).__name__.
  [[nodiscard]] std::string_view type_name() const;

 private:
  // In the order of Kind.
  std::variant<std::monostate, std::shared_ptr<const Undefined>, bool, Integer, double, TextRef,
               SequenceRef, DictRef, std::shared_ptr<const Range>, std::shared_ptr<Namespace>,
               std::shared_ptr<const BoundFunction>, std::shared_ptr<const Macro>,
               std::shared_ptr<Loop>, std::shared_ptr<Cycler>, std::shared_ptr<Joiner>,
               std::shared_ptr<const Opaque>>
      data_;
};

using Member = std::pair<Value, Value>;

/// A dict keeps its order of insertion. Only its maker writes to it.
struct Dict {
  std::vector<Member> members;
  int depth = 1;

  /// Finds a key that is a string.
  [[nodiscard]] const Value* find(std::string_view key) const;
  /// Finds any key; unhashable keys are never found.
  [[nodiscard]] const Value* find(const Value& key) const;
  /// Adds a member or replaces its value. The key must be hashable.
  void set(const Value& key, Value value);

 private:
  [[nodiscard]] const Member* find_member(const Value& key) const;

  // Filled for large dicts only: from the hash of a key to its place.
  std::unordered_multimap<std::size_t, std::size_t> index_;
};

/// What namespace() makes: the one value that a template may change.
struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;

  [[nodiscard]] const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

struct BoundFunction {
  const Function* function;
  Value self;
};

struct Cycler {
  std::vector<Value> items;
  std::size_t position = 0;
  int depth = 1;
};

struct Joiner {
  Value separator;
  bool used = false;
};

/// Whether a value can be a key of a dict.
bool is_hashable(const Value& value);

/// Makes a list or its relatives. Errors: LimitError, RecursionError.
Result<Value> make_sequence(Budget& budget, std::vector<Value> items,
                            SequenceKind kind = SequenceKind::kList);
/// What a filter that Python writes as a generator gives: its failure shows only when it is read.
Result<Value> make_generator(Budget& budget, Result<std::vector<Value>> items);
/// Makes a dict of members in order; later keys win. Errors: TypeError for an unhashable key.
Result<Value> make_dict(Budget& budget, const std::vector<Member>& members);

/// Copies a JSON value. Errors: RecursionError when nested too deeply.
Result<Value> from_json(Budget& budget, const Json& json, int depth = 0);

/// The items that `for` goes over; reads a generator out. Errors: TypeError when not iterable.
Result<std::vector<Value>> iterate(Budget& budget, const Value& value);
bool is_iterable(const Value& value);
/// Python's len(), or nothing when the value has none.
std::optional<std::int64_t> length_of(const Value& value);

/// Names a value in messages about attributes: "dict object", "None".
std::string describe_object(const Value& value);

}  // namespace godwit::jinja
