#pragma once
// The functions that every template can call without being given them.

#include <string_view>

#include "text/jinja/runtime.h"

namespace godwit::jinja {

/// Finds a global function: raise_exception, strftime_now, range, dict, namespace, cycler, joiner.
const Function* find_global(std::string_view name);

}  // namespace godwit::jinja
