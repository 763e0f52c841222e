// map, select, reject and their relatives, which name other filters and tests. Part of filters.h.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/attribute_path.h"
#include "text/jinja/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/predicates.h"
#include "text/jinja/runtime.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

/// The arguments that are passed on, after those that the filter takes itself.
Arguments rest_of(const Arguments& arguments, std::size_t taken) {
  Arguments rest;
  rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(taken),
                         arguments.positional.end());
  rest.named = arguments.named;
  return rest;
}

Result<std::vector<Value>> map_attribute(Runtime& runtime, const std::vector<Value>& values,
                                         const Arguments& arguments) {
  std::optional<AttributePath> path;
  const Value* fallback = nullptr;
  for (const auto& [name, value] : arguments.named) {
    if (name == "attribute") {
      path = TRY(AttributePath::parse(runtime.budget, value));
    } else if (name == "default") {
      fallback = &value;
    } else {
      return type_error("map() got an unexpected keyword argument '" + name + "'");
    }
  }
  if (!path) {
    return type_error("map requires a filter argument");
  }
  std::vector<Value> out;
  for (const Value& item : values) {
    Value value = TRY(path->get(runtime, item));
    const bool replaced = value.is_undefined() && fallback != nullptr && !fallback->is_none();
    out.push_back(replaced ? *fallback : std::move(value));
  }
  return out;
}

Result<std::vector<Value>> map_all(Runtime& runtime, const Value& self,
                                   const Arguments& arguments) {
  // Python asks for the truth of the input first, so none gives nothing rather than an error.
  if (!self.truthy()) {
    return std::vector<Value>();
  }
  const std::vector<Value> values = TRY(iterate(runtime.budget, self));
  if (arguments.positional.empty()) {
    return map_attribute(runtime, values, arguments);
  }
  const std::string name = TRY(to_text(runtime.budget, arguments.positional.front()));
  const Function* filter = find_filter(name);
  if (filter == nullptr) {
    return error(ErrorType::kTemplateRuntimeError, "No filter named '" + name + "'.");
  }
  // Filters may name map again, so this is a way to recurse.
  const DepthGuard guard(runtime.budget);
  if (!guard.status().ok()) {
    return guard.status();
  }
  const Arguments rest = rest_of(arguments, 1);
  std::vector<Value> out;
  for (const Value& item : values) {
    TRY(runtime.budget.charge(1));
    out.push_back(TRY(invoke(runtime, *filter, item, rest)));
  }
  return out;
}

Result<Value> map(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return make_generator(runtime.budget, map_all(runtime, self, arguments));
}

template <bool kByAttribute, bool kKeep>
Result<std::vector<Value>> select_all(Runtime& runtime, const Value& self,
                                      const Arguments& arguments) {
  if (!self.truthy()) {
    return std::vector<Value>();
  }
  const std::vector<Value> values = TRY(iterate(runtime.budget, self));
  std::size_t taken = 0;
  std::optional<AttributePath> path;
  if (kByAttribute) {
    if (arguments.positional.empty()) {
      return type_error("Missing parameter for attribute name");
    }
    path = TRY(AttributePath::parse(runtime.budget, arguments.positional.front()));
    taken = 1;
  }
  const Function* test = nullptr;
  if (arguments.positional.size() > taken) {
    const std::string name = TRY(to_text(runtime.budget, arguments.positional[taken]));
    test = find_test(name);
    ++taken;
    if (test == nullptr) {
      return error(ErrorType::kTemplateRuntimeError, "No test named '" + name + "'.");
    }
  }
  const Arguments rest = rest_of(arguments, taken);
  std::vector<Value> out;
  for (const Value& item : values) {
    TRY(runtime.budget.charge(1));
    const Value subject = path ? TRY(path->get(runtime, item)) : item;
    const bool holds =
        test == nullptr ? subject.truthy() : TRY(invoke(runtime, *test, subject, rest)).truthy();
    if (holds == kKeep) {
      out.push_back(item);
    }
  }
  return out;
}

template <bool kByAttribute, bool kKeep>
Result<Value> select(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return make_generator(runtime.budget, select_all<kByAttribute, kKeep>(runtime, self, arguments));
}

constexpr std::array<Function, 5> kFilters = {{
    {"map", map, "*", 0},
    {"reject", select<false, false>, "*", 0},
    {"rejectattr", select<true, false>, "*", 0},
    {"select", select<false, true>, "*", 0},
    {"selectattr", select<true, true>, "*", 0},
}};

}  // namespace

std::span<const Function> selection_filters() {
  return kFilters;
}

}  // namespace godwit::jinja
