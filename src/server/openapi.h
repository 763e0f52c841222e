#pragma once
// GET /openapi.json: what this server takes and answers, as OpenAPI 3.1. The requests' schemas come
// from the tables that the handlers read by.

#include <string_view>

#include "base/json.h"

namespace godwit {

/// The description. `version` is the server's own; `root_path` is the prefix under which a proxy
/// shows it, or empty.
Json openapi_description(std::string_view version, std::string_view root_path = {});

}  // namespace godwit
