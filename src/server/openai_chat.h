#pragma once
// POST /v1/chat/completions: the first stop on the path of a token.

#include <memory>

#include "server/http.h"
#include "server/server_context.h"

namespace godwit {

/// Reads the request, renders and encodes its messages, hands the prompt to the engine, and answers
/// with what comes back: one body, or a stream of events.
void handle_chat(ServerContext& server, std::shared_ptr<Exchange> exchange);

}  // namespace godwit
