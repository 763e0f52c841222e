#pragma once
// POST /v1/completions.

#include <memory>

#include "server/http.h"
#include "server/server_context.h"

namespace godwit {

void handle_completions(ServerContext& server, std::shared_ptr<Exchange> exchange);

}  // namespace godwit
