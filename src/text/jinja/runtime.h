#pragma once
// What the functions, filters, tests and methods of templates are made of: a row of a constant
// table with a plain function, the arguments of a call, and the state of the render that it may
// touch.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/budget.h"
#include "text/jinja/value.h"

namespace godwit::jinja {

namespace ast {
struct For;
}
struct Scope;

/// A broken-down local time, read by the caller.
struct LocalTime {
  int year = 1970;
  int month = 1;  ///< 1 to 12.
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

/// The state of one render.
struct Runtime {
  Budget budget;
  LocalTime now;
  bool autoescape = false;
  /// Every namespace made, so that cycles through them can be cut at the end.
  std::vector<std::shared_ptr<Namespace>> namespaces;
};

/// The arguments of one call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  /// The argument at a place or of a name; null pointer when it is not given.
  [[nodiscard]] const Value* find(std::size_t place, std::string_view name) const;
};

/// A function that templates can call. A filter's input, a test's subject and a method's object are
/// `self`; a global function has none.
struct Function {
  std::string_view name;
  Result<Value> (*call)(Runtime& runtime, const Value& self, const Arguments& arguments);
  /// Names of the parameters, separated by spaces; "*" takes whatever is given.
  std::string_view parameters;
  /// How many of the parameters must be given.
  std::size_t required = 0;
};

/// Calls a function after checking that its parameters take the arguments. Errors: TypeError.
Result<Value> invoke(Runtime& runtime, const Function& function, const Value& self,
                     const Arguments& arguments);

// Reading arguments. `fallback` stands for one that is not given.
Result<std::int64_t> integer_argument(const Arguments& arguments, std::size_t place,
                                      std::string_view name, std::int64_t fallback);
bool flag_argument(const Arguments& arguments, std::size_t place, std::string_view name,
                   bool fallback);
/// A string, or a TypeError.
Result<std::string> string_argument(const Arguments& arguments, std::size_t place,
                                    std::string_view name, std::string_view fallback);

/// The `loop` of a for statement.
struct Loop {
  std::vector<Value> items;
  std::int64_t index0 = 0;
  std::int64_t depth0 = 0;  ///< Levels of a recursive loop.
  int depth_of_items = 0;
  std::vector<Value> last_changed;
  bool has_changed = false;
  bool ended = false;
  /// What loop(x) runs again; null pointers unless the loop is recursive.
  const ast::For* statement = nullptr;
  std::shared_ptr<Scope> scope;
};

}  // namespace godwit::jinja
