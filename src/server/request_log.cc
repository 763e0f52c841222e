#include "server/request_log.h"

#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/log.h"

namespace godwit {
namespace {

/// Clients choose ids: printable ASCII alone goes into a line.
std::string shown_id(std::string id) {
  std::replace_if(id.begin(), id.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return id;
}

}  // namespace

void log_requests(std::span<const Request> requests) {
  for (const Request& request : requests) {
    const SamplingParams& sampling = request.sampling;
    Json parameters = JsonObject{{"n", request.n},
                                 {"max_tokens", sampling.max_tokens},
                                 {"temperature", static_cast<double>(sampling.temperature)},
                                 {"top_p", static_cast<double>(sampling.top_p)},
                                 {"top_k", sampling.top_k},
                                 {"min_p", static_cast<double>(sampling.min_p)},
                                 {"seed", sampling.seed ? Json(*sampling.seed) : Json()},
                                 {"priority", request.priority}};
    const std::string id = shown_id(request.id);
    const auto prompt_tokens = static_cast<std::int64_t>(request.prompt.size());
    log::event(
        log::Level::kInfo,
        "received request " + id + ": " + std::to_string(prompt_tokens) + " prompt tokens, " +
            to_json(parameters),
        JsonObject{
            {"id", id}, {"prompt_tokens", prompt_tokens}, {"parameters", std::move(parameters)}});
  }
}

}  // namespace godwit
