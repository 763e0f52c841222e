#pragma once
// The methods of Python's own types that templates call, as constant tables.

#include <string_view>

#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace godwit::jinja {

/// Finds a method of a value's type; null pointer when it has none of that name.
const Function* find_method(const Value& object, std::string_view name);

/// Holds for methods that would change the value, which the sandbox keeps away.
bool is_blocked_method(const Value& object, std::string_view name);

/// Finds a method of str.
const Function* find_string_method(std::string_view name);

}  // namespace godwit::jinja
