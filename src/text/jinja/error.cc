#include "text/jinja/error.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace godwit::jinja {
namespace {

constexpr std::array<std::string_view, 12> kNames = {
    "TemplateError",
    "TemplateSyntaxError",
    "TemplateAssertionError",
    "TemplateRuntimeError",
    "UndefinedError",
    "SecurityError",
    "TypeError",
    "ValueError",
    "ZeroDivisionError",
    "OverflowError",
    "RecursionError",
    "LimitError",
};

}  // namespace

std::string_view to_string(ErrorType type) {
  return kNames[static_cast<std::size_t>(type)];
}

Status error(ErrorType type, std::string_view message) {
  return invalid_argument(std::string(to_string(type)) + ": " + std::string(message));
}

Status type_error(std::string_view message) {
  return error(ErrorType::kTypeError, message);
}

Status value_error(std::string_view message) {
  return error(ErrorType::kValueError, message);
}

ErrorView describe(const Status& status) {
  const std::string_view cause = status.cause();
  for (const std::string_view name : kNames) {
    if (cause.size() >= name.size() + 2 && cause.substr(0, name.size()) == name &&
        cause.substr(name.size(), 2) == ": ") {
      return {std::string(name), std::string(cause.substr(name.size() + 2))};
    }
  }
  return {"InternalError", std::string(cause)};
}

}  // namespace godwit::jinja
