#pragma once
// Errors in OpenAI's form.

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "server/http.h"

namespace godwit {

/// The HTTP status that a failure is answered with.
int http_status(const Status& failure);

/// Writes {"error": {"message", "type", "param", "code"}}. `param` is the first word of the cause
/// when that names a field of a request, such as "top_p" or "messages[2].content".
Json error_body(const Status& failure);

/// The whole response. kNotFound is a model that is not served; use the other form for routes.
HttpResponse error_response(const Status& failure);

/// A response for what is no failure of an operation, such as an unknown route. `code` may be
/// empty.
HttpResponse error_response(int status, std::string_view message, std::string_view type,
                            std::string_view code);

}  // namespace godwit
