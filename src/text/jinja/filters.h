#pragma once
// The filters of Jinja, and what `map` and `select` share with the rest, as constant tables.

#include <span>
#include <string_view>

#include "text/jinja/runtime.h"

namespace godwit::jinja {

/// Finds a filter; null pointer when there is none of that name.
const Function* find_filter(std::string_view name);

/// Filters of one value or text, and filters of lists and dicts.
std::span<const Function> text_filters();
std::span<const Function> item_filters();
std::span<const Function> selection_filters();

/// Text filters that lay out prose.
std::span<const Function> prose_filters();

}  // namespace godwit::jinja
