#pragma once
// GET /openapi.json: what this server takes and answers, as OpenAPI 3.1. The requests' schemas come
// from the tables that the handlers read by.

#include <string_view>

#include "base/json.h"

namespace godwit {

/// The description. `version` is the server's own.
Json openapi_description(std::string_view version);

}  // namespace godwit
