#pragma once
// The two ways of Python to put values into a text: `text % values` and `text.format(...)`.

#include "base/status.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace godwit::jinja {

/// `format % values`. Errors: TypeError and ValueError as in Python.
Result<Value> format_percent(Runtime& runtime, const Value& format, const Value& values);

/// `format.format(...)`. Errors: also UndefinedError and the limits.
Result<Value> format_fields(Runtime& runtime, const Value& format, const Arguments& arguments);

}  // namespace godwit::jinja
