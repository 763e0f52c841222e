#include "server/error_body.h"

#include <algorithm>

namespace godwit {
namespace {

/// A field's name is lower-case words joined by "_", ".", or indices; prose starts otherwise.
std::string_view field_at_start(std::string_view cause) {
  const std::string_view word = cause.substr(0, cause.find_first_of(" :,"));
  const bool is_name = !word.empty() && word.size() < cause.size() &&
                       std::all_of(
                           word.begin(), word.end(),
                           [](char c) {
                             return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
                                    c == '.' || c == '[' || c == ']';
                           });
  // Causes that begin with one of these words speak of no field.
  constexpr std::string_view kProse[] = {"a",      "an", "the",   "this",
                                         "cannot", "no", "there", "request"};
  return is_name && std::find(std::begin(kProse), std::end(kProse), word) == std::end(kProse)
             ? word
             : std::string_view();
}

std::string_view error_type(int status) {
  return status >= 500 ? "server_error" : "invalid_request_error";
}

std::string_view error_code(StatusCode code) {
  switch (code) {
    case StatusCode::kNotFound:
      return "model_not_found";
    case StatusCode::kResourceExhausted:
      return "overloaded";
    case StatusCode::kUnimplemented:
      return "unsupported";
    case StatusCode::kUnavailable:
      return "unavailable";
    default:
      return {};
  }
}

Json body(std::string_view message, std::string_view type, std::string_view param,
          std::string_view code) {
  Json error;
  error.set("message", message);
  error.set("type", type);
  error.set("param", param.empty() ? Json() : Json(param));
  error.set("code", code.empty() ? Json() : Json(code));
  return JsonObject{{"error", std::move(error)}};
}

}  // namespace

int http_status(const Status& failure) {
  switch (failure.code()) {
    case StatusCode::kOk:
      return 200;
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnimplemented:
      return 400;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kResourceExhausted:
    case StatusCode::kUnavailable:
      return 503;
    case StatusCode::kInternal:
      return 500;
  }
  return 500;
}

Json error_body(const Status& failure) {
  const int status = http_status(failure);
  const std::string_view param = status < 500 ? field_at_start(failure.cause()) : "";
  return body(failure.message(), error_type(status), param, error_code(failure.code()));
}

HttpResponse error_response(const Status& failure) {
  HttpResponse response{.status = http_status(failure), .body = to_json(error_body(failure))};
  if (response.status == 503) {
    response.headers.push_back({"Retry-After", "1"});
  }
  return response;
}

HttpResponse error_response(int status, std::string_view message, std::string_view type,
                            std::string_view code) {
  return {.status = status, .body = to_json(body(message, type, {}, code))};
}

}  // namespace godwit
