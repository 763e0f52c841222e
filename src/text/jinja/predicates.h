#pragma once
// What `x is name` asks: the tests of Jinja, as a constant table.

#include <string_view>

#include "text/jinja/runtime.h"

namespace godwit::jinja {

/// Finds a test; null pointer when there is none of that name.
const Function* find_test(std::string_view name);

}  // namespace godwit::jinja
