#pragma once
// What a request must satisfy before it is queued.

#include "base/status.h"
#include "engine/engine.h"
#include "request/request.h"

namespace godwit {

/// Errors: kInvalidArgument naming the field, its value and the limit.
Status check_request(const Request& request, const EngineLimits& limits);

}  // namespace godwit
