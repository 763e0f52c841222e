#pragma once
// GET /v1/models and /v1/models/{id}.

#include <string_view>

#include "server/http.h"
#include "server/server_context.h"

namespace godwit {

HttpResponse list_models(const ServedModel& model);
HttpResponse show_model(const ServedModel& model, std::string_view name);

}  // namespace godwit
