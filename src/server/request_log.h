#pragma once
// The log lines about requests that go to the engine (--enable-log-requests). They tell sizes and
// parameters, never a text.

#include <span>

#include "request/request.h"

namespace godwit {

/// One line a request.
void log_requests(std::span<const Request> requests);

}  // namespace godwit
