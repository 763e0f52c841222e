#include "text/jinja/runtime.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

std::vector<std::string_view> split_names(std::string_view names) {
  std::vector<std::string_view> parts;
  while (!names.empty()) {
    const std::size_t space = std::min(names.find(' '), names.size());
    parts.push_back(names.substr(0, space));
    names.remove_prefix(std::min(space + 1, names.size()));
  }
  return parts;
}

}  // namespace

const Value* Arguments::find(std::size_t place, std::string_view name) const {
  if (place < positional.size()) {
    return &positional[place];
  }
  for (const auto& [key, value] : named) {
    if (key == name) {
      return &value;
    }
  }
  return nullptr;
}

Result<Value> invoke(Runtime& runtime, const Function& function, const Value& self,
                     const Arguments& arguments) {
  const bool has_arguments = !arguments.positional.empty() || !arguments.named.empty();
  if (function.parameters == "*" || (!has_arguments && function.required == 0)) {
    return function.call(runtime, self, arguments);
  }
  const std::string name(function.name);
  const std::vector<std::string_view> parameters = split_names(function.parameters);
  if (arguments.positional.size() > parameters.size()) {
    return type_error(name + "() takes at most " + std::to_string(parameters.size()) +
                      " argument(s)");
  }
  for (const auto& argument : arguments.named) {
    const auto place = std::find(parameters.begin(), parameters.end(), argument.first);
    if (place == parameters.end()) {
      return type_error(name + "() got an unexpected keyword argument '" + argument.first + "'");
    }
    if (static_cast<std::size_t>(place - parameters.begin()) < arguments.positional.size()) {
      return type_error(name + "() got multiple values for argument '" + argument.first + "'");
    }
  }
  for (std::size_t i = 0; i < function.required; ++i) {
    if (arguments.find(i, parameters[i]) == nullptr) {
      return type_error(name + "() misses the argument '" + std::string(parameters[i]) + "'");
    }
  }
  return function.call(runtime, self, arguments);
}

Result<std::int64_t> integer_argument(const Arguments& arguments, std::size_t place,
                                      std::string_view name, std::int64_t fallback) {
  const Value* value = arguments.find(place, name);
  if (value == nullptr) {
    return fallback;
  }
  if (value->is_undefined()) {
    return value->as_undefined().failure();
  }
  if (!value->is_integer()) {
    return type_error("'" + std::string(value->type_name()) +
                      "' object cannot be interpreted as an integer");
  }
  const Integer number = value->as_integer();
  return static_cast<std::int64_t>(std::clamp(number, Integer{INT64_MIN}, Integer{INT64_MAX}));
}

bool flag_argument(const Arguments& arguments, std::size_t place, std::string_view name,
                   bool fallback) {
  const Value* value = arguments.find(place, name);
  return value == nullptr ? fallback : value->truthy();
}

Result<std::string> string_argument(const Arguments& arguments, std::size_t place,
                                    std::string_view name, std::string_view fallback) {
  const Value* value = arguments.find(place, name);
  if (value == nullptr) {
    return std::string(fallback);
  }
  if (value->is_undefined()) {
    return value->as_undefined().failure();
  }
  if (!value->is_string()) {
    return type_error("argument '" + std::string(name) + "' must be str, not " +
                      std::string(value->type_name()));
  }
  return value->as_string();
}

}  // namespace godwit::jinja
