#include "server/router.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "server/chat_page.h"
#include "server/error_body.h"
#include "server/models.h"
#include "server/openai_chat.h"
#include "server/openai_completions.h"
#include "server/openapi.h"
#include "server/tokenization.h"

namespace godwit {
namespace {

using ExchangePtr = std::shared_ptr<Exchange>;

struct Route {
  std::string_view method;
  std::string_view path;
  bool is_prefix;  // the rest of the path is a name
  bool is_open;    // answered without a key
  void (*handle)(ServerContext&, ExchangePtr);
};

void respond(Exchange& exchange, const Result<HttpResponse>& response) {
  exchange.respond(response.ok() ? *response : error_response(response.status()));
}

/// Alive: the engine's loop runs. Whether it takes requests is another question.
void answer_alive(ServerContext& server, ExchangePtr exchange) {
  exchange->respond({.status = server.engine->alive() ? 200 : 503, .content_type = {}});
}

void answer_ready(ServerContext& server, ExchangePtr exchange) {
  const bool ready = server.engine->alive() && !server.draining;
  exchange->respond({.status = ready ? 200 : 503, .content_type = {}});
}

void answer_version(ServerContext& server, ExchangePtr exchange) {
  exchange->respond({.body = to_json(JsonObject{{"version", server.version}})});
}

void answer_metrics(ServerContext& server, ExchangePtr exchange) {
  exchange->respond({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                     .body = server.engine->metrics_text()});
}

void answer_chat_page(ServerContext& /*server*/, ExchangePtr exchange) {
  exchange->respond({.content_type = "text/html; charset=utf-8", .body = std::string(chat_page())});
}

void answer_openapi(ServerContext& server, ExchangePtr exchange) {
  exchange->respond({.body = to_json(openapi_description(server.version, server.root_path))});
}

void answer_models(ServerContext& server, ExchangePtr exchange) {
  exchange->respond(list_models(server.model));
}

constexpr std::string_view kModelPrefix = "/v1/models/";

void answer_model(ServerContext& server, ExchangePtr exchange) {
  const std::string name = exchange->request().path.substr(kModelPrefix.size());
  exchange->respond(show_model(server.model, name));
}

void answer_tokenize(ServerContext& server, ExchangePtr exchange) {
  respond(*exchange, tokenize(server, exchange->request()));
}

void answer_detokenize(ServerContext& server, ExchangePtr exchange) {
  respond(*exchange, detokenize(server, exchange->request()));
}

void answer_tokenizer_info(ServerContext& server, ExchangePtr exchange) {
  respond(*exchange, tokenizer_info(server));
}

constexpr Route kRoutes[] = {
    {"POST", "/v1/chat/completions", false, false, &handle_chat},
    {"POST", "/v1/completions", false, false, &handle_completions},
    {"GET", "/v1/models", false, false, &answer_models},
    {"GET", kModelPrefix, true, false, &answer_model},
    {"POST", "/tokenize", false, false, &answer_tokenize},
    {"POST", "/detokenize", false, false, &answer_detokenize},
    {"GET", "/tokenizer_info", false, false, &answer_tokenizer_info},
    {"GET", "/health", false, true, &answer_alive},
    {"GET", "/livez", false, true, &answer_alive},
    {"GET", "/readyz", false, true, &answer_ready},
    {"GET", "/ping", false, true, &answer_alive},
    {"POST", "/ping", false, true, &answer_alive},
    {"GET", "/version", false, true, &answer_version},
    {"GET", "/metrics", false, true, &answer_metrics},
    {"GET", "/openapi.json", false, true, &answer_openapi},
    {"GET", "/", false, true, &answer_chat_page},
};

bool matches(const Route& route, std::string_view path) {
  return route.is_prefix ? path.size() > route.path.size() && path.starts_with(route.path)
                         : path == route.path;
}

}  // namespace

ApiKeys::ApiKeys(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    digests_.push_back(sha256(std::as_bytes(std::span(key))));
  }
}

bool ApiKeys::admits(const HttpRequest& request) const {
  if (digests_.empty()) {
    return true;
  }
  const std::string* header = request.header("authorization");
  if (header == nullptr) {
    return false;
  }
  std::string_view key = *header;
  const std::string_view scheme = key.substr(0, key.find(' '));
  if (!equal_ignoring_case(scheme, "bearer")) {
    return false;
  }
  key.remove_prefix(std::min(key.find_first_not_of(' ', scheme.size()), key.size()));
  const Sha256Digest shown = sha256(std::as_bytes(std::span(key)));
  return std::find(digests_.begin(), digests_.end(), shown) != digests_.end();
}

void Router::route(std::shared_ptr<Exchange> exchange) const {
  const HttpRequest& request = exchange->request();
  if (request.method == "OPTIONS" && request.path == "*") {  // RFC 9110, section 9.3.7.
    exchange->respond({.content_type = {}, .headers = {{"Allow", "GET, HEAD, OPTIONS, POST"}}});
    return;
  }
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  std::string allowed;
  for (const Route& route : kRoutes) {
    if (!matches(route, request.path)) {
      continue;
    }
    if (route.method != method) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
      continue;
    }
    if (!route.is_open && !keys_.admits(request)) {
      HttpResponse response = error_response(
          401, "This server asks for an API key; send it as \"Authorization: Bearer KEY\"",
          "invalid_request_error", "invalid_api_key");
      response.headers.push_back({"WWW-Authenticate", "Bearer"});
      exchange->respond(std::move(response));
      return;
    }
    route.handle(server_, std::move(exchange));
    return;
  }
  if (allowed.empty()) {
    exchange->respond(error_response(404, "There is no " + request.path.substr(0, 200),
                                     "invalid_request_error", "not_found"));
    return;
  }
  HttpResponse response =
      error_response(405, request.path + " does not take " + request.method.substr(0, 20),
                     "invalid_request_error", "method_not_allowed");
  response.headers.push_back({"Allow", allowed});
  exchange->respond(std::move(response));
}

}  // namespace godwit
