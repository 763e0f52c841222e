#pragma once
// The failures of a template, told apart by the name that Python's Jinja gives them, because
// clients and the golden files know them by it. A failure travels as a Status whose cause is "Type:
// message".

#include <string>
#include <string_view>

#include "base/status.h"

namespace godwit::jinja {

enum class ErrorType {
  kTemplateError,           ///< raise_exception() was called; the message is the template's own.
  kTemplateSyntaxError,     ///< The source does not parse.
  kTemplateAssertionError,  ///< The source names a filter or test that does not exist.
  kTemplateRuntimeError,
  kUndefinedError,
  kSecurityError,
  kTypeError,
  kValueError,
  kZeroDivisionError,
  kOverflowError,
  kRecursionError,  ///< Calls, expressions or values are nested too deeply.
  kLimitError,      ///< Another limit of Limits is reached; the message names it.
};

/// Names a type as Python does, for example "UndefinedError".
std::string_view to_string(ErrorType type);

/// Makes the failure of a template.
Status error(ErrorType type, std::string_view message);
Status type_error(std::string_view message);
Status value_error(std::string_view message);

struct ErrorView {
  std::string type;
  std::string message;
};

/// Splits a failure made by error() again. Others become type "InternalError".
ErrorView describe(const Status& status);

}  // namespace godwit::jinja
