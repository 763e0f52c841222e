#pragma once
// The schemas of what the server answers, and of messages.

#include <string_view>

namespace godwit {

/// An object of JSON Schemas by name, as JSON text.
std::string_view answer_schemas();

}  // namespace godwit
