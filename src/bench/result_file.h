#pragma once
// Writes the result of a measurement as a JSON file.

#include <string>

#include "base/json.h"
#include "base/status.h"

namespace godwit {

/// Replaces what is at `path`. Errors: kInvalidArgument naming the path.
Status write_result(const std::string& path, const Json& result);

}  // namespace godwit
