#pragma once
// POST /tokenize and /detokenize, in vLLM's form.

#include "base/status.h"
#include "server/http.h"
#include "server/server_context.h"

namespace godwit {

/// {"prompt"} or {"messages"} to {"count", "max_model_len", "tokens"}; "return_token_strs" adds
/// "token_strs".
Result<HttpResponse> tokenize(ServerContext& server, const HttpRequest& http);

/// {"tokens"} to {"prompt"}.
Result<HttpResponse> detokenize(ServerContext& server, const HttpRequest& http);

}  // namespace godwit
