#pragma once
// How an operation that can fail says so. `Status` carries a code, the cause, and what to do about
// it; `Result<T>` is a Status or a value. What cannot fail unless godwit is wrong uses CHECK.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace godwit {

enum class StatusCode {
  kOk,
  kInvalidArgument,    ///< The caller's input is wrong (HTTP 400).
  kNotFound,           ///< Something named does not exist (HTTP 404).
  kResourceExhausted,  ///< A limit is reached; trying later may work (HTTP 429 or 503).
  kUnimplemented,  ///< Correct input for a feature that godwit does not have (HTTP 501, or 400).
  kUnavailable,    ///< The engine is stopping or not ready (HTTP 503).
  kInternal,       ///< A fault of godwit, the system or the device (HTTP 500).
};

/// Names a code as it appears in logs, for example "invalid argument".
std::string_view to_string(StatusCode code);

/// The outcome of an operation without a value. Copying an ok Status costs nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  /// `cause` says what happened and in which input; `remedy` says what to do, and may be empty.
  Status(StatusCode code, std::string cause, std::string remedy = {});

  [[nodiscard]] bool ok() const { return failure_ == nullptr; }
  [[nodiscard]] StatusCode code() const { return ok() ? StatusCode::kOk : failure_->code; }
  [[nodiscard]] std::string_view cause() const {
    return ok() ? std::string_view() : failure_->cause;
  }
  [[nodiscard]] std::string_view remedy() const {
    return ok() ? std::string_view() : failure_->remedy;
  }
  /// Joins cause and remedy into one line for the terminal or an error body.
  [[nodiscard]] std::string message() const;

 private:
  struct Failure {
    StatusCode code;
    std::string cause;
    std::string remedy;
  };
  std::shared_ptr<const Failure> failure_;
};

Status invalid_argument(std::string cause, std::string remedy = {});
Status not_found(std::string cause, std::string remedy = {});
Status resource_exhausted(std::string cause, std::string remedy = {});
Status unimplemented(std::string cause, std::string remedy = {});
Status unavailable(std::string cause, std::string remedy = {});
Status internal_error(std::string cause, std::string remedy = {});

/// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    CHECK(!status_.ok());
  }

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const { return status_; }

  [[nodiscard]] const T& value() const& {
    CHECK(ok());
    return *value_;
  }
  [[nodiscard]] T& value() & {
    CHECK(ok());
    return *value_;
  }
  [[nodiscard]] T&& value() && {
    CHECK(ok());
    return *std::move(value_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

namespace internal {
inline Status take_status(Status status) {
  return status;
}
template <class T>
Status take_status(const Result<T>& result) {
  return result.status();
}
inline void take_value(Status /*status*/) {}
template <class T>
T take_value(Result<T>&& result) {
  return std::move(result).value();
}
}  // namespace internal

}  // namespace godwit

/// Evaluates to the value of a Result (or to nothing, for a Status); returns the failure from the
/// enclosing function otherwise. Never nested.
#define TRY(expression)                                                     \
  __extension__({                                                           \
    auto godwit_try_result = (expression);                                  \
    if (!godwit_try_result.ok()) {                                          \
      return ::godwit::internal::take_status(std::move(godwit_try_result)); \
    }                                                                       \
    ::godwit::internal::take_value(std::move(godwit_try_result));           \
  })
