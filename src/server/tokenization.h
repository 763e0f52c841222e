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

/// GET /tokenizer_info: the special tokens, and how many ids there are.
Result<HttpResponse> tokenizer_info(const ServerContext& server);

}  // namespace godwit
