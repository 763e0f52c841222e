#include "text/jinja/interpreter.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/budget.h"
#include "text/jinja/error.h"
#include "text/jinja/globals.h"
#include "text/jinja/parser.h"
#include "text/jinja/runtime.h"
#include "text/jinja/template.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace godwit::jinja {

Interpreter::Interpreter(const ParsedTemplate& parsed, const RenderOptions& options)
    : parsed_(parsed),
      runtime_{Budget(options.limits), options.now, false, {}},
      globals_(parsed.names.size()),
      root_(std::make_shared<Scope>()),
      loop_id_(id_of("loop")),
      caller_id_(id_of("caller")),
      varargs_id_(id_of("varargs")),
      kwargs_id_(id_of("kwargs")) {}

Interpreter::~Interpreter() {
  // Namespaces and scopes may hold each other, and long chains of them must not be destroyed by
  // recursion: each is emptied on its own.
  for (const std::shared_ptr<Namespace>& space : runtime_.namespaces) {
    space->attributes.clear();
  }
  for (const ScopePtr& scope : captured_) {
    scope->names.clear();
  }
}

Result<std::string> Interpreter::run(std::span<const Variable> variables) {
  for (std::size_t i = 0; i < parsed_.names.size(); ++i) {
    if (const Function* function = find_global(parsed_.names[i]); function != nullptr) {
      globals_[i] = Value(std::make_shared<const BoundFunction>(BoundFunction{function, Value()}));
    } else if (parsed_.names[i] == "self") {
      globals_[i] = Value(Opaque{"TemplateReference", "<TemplateReference None>"});
    }
  }
  for (const Variable& variable : variables) {
    if (const int id = id_of(variable.name); id >= 0) {
      globals_[static_cast<std::size_t>(id)] = TRY(from_json(runtime_.budget, *variable.value));
    }
  }
  std::string out;
  out_ = &out;
  TRY(execute(parsed_.body, root_));
  return out;
}

int Interpreter::id_of(std::string_view name) const {
  const auto it = std::find(parsed_.names.begin(), parsed_.names.end(), name);
  return it == parsed_.names.end() ? -1 : static_cast<int>(it - parsed_.names.begin());
}

Result<Value> Interpreter::find_name(int id, const Scope* scope) const {
  for (; scope != nullptr; scope = scope->parent.get()) {
    for (const auto& [name, value] : scope->names) {
      if (name == id) {
        return value;
      }
    }
  }
  const auto place = static_cast<std::size_t>(id);
  if (globals_[place]) {
    return *globals_[place];
  }
  return Value(Undefined{.name = parsed_.names[place],
                         .object_type = {},
                         .is_index = false,
                         .is_unsafe = false,
                         .message = {}});
}

void Interpreter::set_name(int id, Value value, Scope& scope) {
  if (&scope == root_.get()) {
    globals_[static_cast<std::size_t>(id)] = std::move(value);
    return;
  }
  for (auto& [name, old] : scope.names) {
    if (name == id) {
      old = std::move(value);
      return;
    }
  }
  scope.names.emplace_back(id, std::move(value));
}

Status Interpreter::assign(const ast::Target& target, Value value, Scope& scope) {
  if (target.is_tuple) {
    return assign_tuple(target, value, scope);
  }
  if (target.attribute.empty()) {
    set_name(target.id, std::move(value), scope);
    return {};
  }
  const Value space = TRY(find_name(target.id, &scope));
  if (!space.is(Kind::kNamespace)) {
    return error(ErrorType::kTemplateRuntimeError,
                 "cannot assign attribute on non-namespace object");
  }
  space.as_namespace()->set(target.attribute, std::move(value));
  return {};
}

Status Interpreter::assign_tuple(const ast::Target& target, const Value& value, Scope& scope) {
  if (!is_iterable(value)) {
    return type_error("cannot unpack non-iterable " + std::string(value.type_name()) + " object");
  }
  std::vector<Value> items = TRY(iterate(runtime_.budget, value));
  const std::string expected = "(expected " + std::to_string(target.items.size());
  if (items.size() > target.items.size()) {
    return value_error("too many values to unpack " + expected + ")");
  }
  if (items.size() < target.items.size()) {
    return value_error("not enough values to unpack " + expected + ", got " +
                       std::to_string(items.size()) + ")");
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    TRY(assign(target.items[i], std::move(items[i]), scope));
  }
  return {};
}

Status Interpreter::write(std::string_view text) {
  const std::size_t size = out_->size() + text.size();
  if (size > runtime_.budget.limits().max_output_bytes) {
    return runtime_.budget.charge_bytes(size);
  }
  TRY(runtime_.budget.charge_bytes(text.size()));
  *out_ += text;
  return {};
}

Status Interpreter::write_value(const Value& value) {
  if (runtime_.autoescape) {
    return write(TRY(to_escaped(runtime_.budget, value)));
  }
  if (value.is_string()) {
    return write(value.as_string());
  }
  return write(TRY(to_text(runtime_.budget, value)));
}

Result<std::string> Interpreter::capture(const ast::Body& body, const ScopePtr& scope) {
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  const Result<Flow> flow = execute(body, scope);
  out_ = outer;
  if (!flow.ok()) {
    return flow.status();
  }
  return text;
}

Result<Value> Interpreter::filter_text(const ast::ExpressionPtr& filters, std::string text,
                                       const ScopePtr& scope) {
  block_texts_.emplace_back(std::move(text), runtime_.autoescape);
  Value value = TRY(evaluate(*filters, scope));
  block_texts_.pop_back();
  return value;
}

Value Interpreter::make_macro(const ast::MacroDefinition& definition, const ScopePtr& scope) {
  if (scope != root_ && (captured_.empty() || captured_.back() != scope)) {
    captured_.push_back(scope);
  }
  return Value(std::make_shared<const Macro>(Macro{&definition, scope}));
}

Result<Value> Interpreter::call(const Value& callee, Arguments arguments) {
  switch (callee.kind()) {
    case Kind::kFunction: {
      const BoundFunction& bound = callee.as_function();
      return invoke(runtime_, *bound.function, bound.self, arguments);
    }
    case Kind::kMacro:
      return call_macro(*callee.as_macro(), std::move(arguments));
    case Kind::kLoop:
      return call_loop(callee, arguments);
    case Kind::kJoiner: {
      Joiner& joiner = *callee.as_joiner();
      return std::exchange(joiner.used, true) ? joiner.separator : Value(std::string_view());
    }
    case Kind::kUndefined:
      return callee.as_undefined().failure();
    default:
      return type_error("'" + std::string(callee.type_name()) + "' object is not callable");
  }
}

Status Interpreter::bind_parameters(const ast::MacroDefinition& macro, Arguments& arguments,
                                    const ScopePtr& scope) {
  const std::size_t count = macro.parameters.size();
  const auto take_named = [&](std::string_view name) -> std::optional<Value> {
    for (auto it = arguments.named.begin(); it != arguments.named.end(); ++it) {
      if (it->first == name) {
        Value value = std::move(it->second);
        arguments.named.erase(it);
        return value;
      }
    }
    return std::nullopt;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const ast::Parameter& parameter = macro.parameters[i];
    std::optional<Value> value;
    if (i < arguments.positional.size()) {
      value = arguments.positional[i];
    } else {
      value = take_named(parameter.name);
    }
    if (!value && parameter.fallback != nullptr) {
      value = TRY(evaluate(*parameter.fallback, scope));
    }
    if (!value) {
      value = Value(Undefined{.name = parameter.name,
                              .object_type = {},
                              .is_index = false,
                              .is_unsafe = false,
                              .message = "parameter '" + parameter.name + "' was not provided"});
    }
    set_name(parameter.id, std::move(*value), *scope);
  }
  if (macro.uses_caller) {
    const std::optional<Value> caller = take_named("caller");
    set_name(caller_id_,
             caller ? *caller
                    : Value(Undefined{.name = "caller",
                                      .object_type = {},
                                      .is_index = false,
                                      .is_unsafe = false,
                                      .message = "No caller defined"}),
             *scope);
  }
  if (macro.uses_kwargs) {
    std::vector<Member> members;
    for (auto& [name, value] : arguments.named) {
      members.emplace_back(Value(name), std::move(value));
    }
    set_name(kwargs_id_, TRY(make_dict(runtime_.budget, members)), *scope);
  } else if (!arguments.named.empty()) {
    return type_error("macro '" + macro.name + "' takes no keyword argument '" +
                      arguments.named.front().first + "'");
  }
  if (macro.uses_varargs) {
    std::vector<Value> rest;
    if (arguments.positional.size() > count) {
      rest.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count),
                  arguments.positional.end());
    }
    set_name(varargs_id_,
             TRY(make_sequence(runtime_.budget, std::move(rest), SequenceKind::kTuple)), *scope);
  } else if (arguments.positional.size() > count) {
    return type_error("macro '" + macro.name + "' takes not more than " + std::to_string(count) +
                      " argument(s)");
  }
  return {};
}

Result<Value> Interpreter::call_macro(const Macro& macro, Arguments arguments) {
  const ScopePtr scope = inner(macro.scope);
  TRY(bind_parameters(*macro.definition, arguments, scope));
  return Value(TRY(capture(macro.definition->body, scope)), runtime_.autoescape);
}

Result<Value> Interpreter::call_loop(const Value& callee, const Arguments& arguments) {
  const std::shared_ptr<Loop> loop = callee.as_loop();
  if (loop->statement == nullptr || loop->scope == nullptr) {
    return type_error("The loop must have the 'recursive' marker to be called recursively.");
  }
  if (arguments.positional.size() != 1 || !arguments.named.empty()) {
    return type_error("loop() takes one argument");
  }
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  const ast::For* statement = loop->statement;
  const ScopePtr scope = loop->scope;
  const Result<Flow> flow =
      run_loop(*statement, arguments.positional.front(), scope, loop->depth0 + 1);
  out_ = outer;
  if (!flow.ok()) {
    return flow.status();
  }
  return Value(std::move(text), runtime_.autoescape);
}

}  // namespace godwit::jinja
