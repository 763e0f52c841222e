#include "base/status.h"

namespace godwit {

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kNotFound:
      return "not found";
    case StatusCode::kResourceExhausted:
      return "resource exhausted";
    case StatusCode::kUnimplemented:
      return "unimplemented";
    case StatusCode::kUnavailable:
      return "unavailable";
    case StatusCode::kInternal:
      return "internal";
  }
  return "unknown";
}

Status::Status(StatusCode code, std::string cause, std::string remedy)
    : failure_(std::make_shared<const Failure>(
          Failure{.code = code, .cause = std::move(cause), .remedy = std::move(remedy)})) {
  CHECK(code != StatusCode::kOk);
}

std::string Status::message() const {
  if (ok()) {
    return "ok";
  }
  if (failure_->remedy.empty()) {
    return failure_->cause;
  }
  return failure_->cause + "; " + failure_->remedy;
}

Status invalid_argument(std::string cause, std::string remedy) {
  return {StatusCode::kInvalidArgument, std::move(cause), std::move(remedy)};
}
Status not_found(std::string cause, std::string remedy) {
  return {StatusCode::kNotFound, std::move(cause), std::move(remedy)};
}
Status resource_exhausted(std::string cause, std::string remedy) {
  return {StatusCode::kResourceExhausted, std::move(cause), std::move(remedy)};
}
Status unimplemented(std::string cause, std::string remedy) {
  return {StatusCode::kUnimplemented, std::move(cause), std::move(remedy)};
}
Status unavailable(std::string cause, std::string remedy) {
  return {StatusCode::kUnavailable, std::move(cause), std::move(remedy)};
}
Status internal_error(std::string cause, std::string remedy) {
  return {StatusCode::kInternal, std::move(cause), std::move(remedy)};
}

}  // namespace godwit
