// How the interpreter executes statements.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/budget.h"
#include "text/jinja/error.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

/// Ends a loop when its statement does: what outlives it holds no scope and no other loop.
class LoopEnd {
 public:
  explicit LoopEnd(Loop& loop) : loop_(loop) {}
  ~LoopEnd() {
    loop_.ended = true;
    loop_.last_changed.clear();
    loop_.scope.reset();
  }
  LoopEnd(const LoopEnd&) = delete;
  LoopEnd& operator=(const LoopEnd&) = delete;
  LoopEnd(LoopEnd&&) = delete;
  LoopEnd& operator=(LoopEnd&&) = delete;

 private:
  Loop& loop_;
};

}  // namespace

Result<Interpreter::Flow> Interpreter::execute(const ast::Body& body, const ScopePtr& scope) {
  const DepthGuard guard(runtime_.budget);
  if (!guard.status().ok()) {
    return guard.status();
  }
  for (const ast::Statement& statement : body) {
    TRY(runtime_.budget.charge(1));
    const Flow flow = TRY(
        std::visit([&](const auto& node) { return execute_node(node, scope); }, statement.node));
    if (flow != Flow::kNext) {
      return flow;
    }
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::Data& node,
                                                    const ScopePtr& /*scope*/) {
  TRY(write(node.text));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::Print& node, const ScopePtr& scope) {
  const Value value = TRY(evaluate(*node.value, scope));
  TRY(write_value(value));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::If& node, const ScopePtr& scope) {
  for (const auto& [test, body] : node.branches) {
    if (TRY(evaluate(*test, scope)).truthy()) {
      return execute(body, scope);
    }
  }
  return execute(node.otherwise, scope);
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::For& node, const ScopePtr& scope) {
  const Value iterable = TRY(evaluate(*node.iterable, scope));
  return run_loop(node, iterable, scope, 0);
}

Result<std::vector<Value>> Interpreter::loop_items(const ast::For& node, const Value& iterable,
                                                   const ScopePtr& scope) {
  std::vector<Value> items = TRY(iterate(runtime_.budget, iterable));
  if (node.condition == nullptr) {
    return items;
  }
  std::vector<Value> kept;
  for (Value& item : items) {
    const ScopePtr tested = inner(scope);
    TRY(assign(node.target, item, *tested));
    if (TRY(evaluate(*node.condition, tested)).truthy()) {
      kept.push_back(std::move(item));
    }
  }
  return kept;
}

/// Runs all iterations; returns whether one of them came to its end, which Jinja asks for `else`.
Result<bool> Interpreter::run_body(const ast::For& node, const std::shared_ptr<Loop>& loop,
                                   const ScopePtr& scope) {
  bool completed = false;
  for (std::size_t i = 0; i < loop->items.size(); ++i) {
    TRY(runtime_.budget.charge(1));
    loop->index0 = static_cast<std::int64_t>(i);
    const ScopePtr inside = inner(scope);
    if (loop_id_ >= 0) {
      set_name(loop_id_, Value(loop), *inside);
    }
    TRY(assign(node.target, loop->items[i], *inside));
    const Flow flow = TRY(execute(node.body, inside));
    if (flow == Flow::kBreak) {
      break;
    }
    completed = completed || flow == Flow::kNext;
  }
  return completed;
}

Result<Interpreter::Flow> Interpreter::run_loop(const ast::For& node, const Value& iterable,
                                                const ScopePtr& scope, std::int64_t depth0) {
  const DepthGuard guard(runtime_.budget);
  if (!guard.status().ok()) {
    return guard.status();
  }
  const auto loop = std::make_shared<Loop>();
  const LoopEnd end(*loop);
  loop->items = TRY(loop_items(node, iterable, scope));
  loop->depth0 = depth0;
  for (const Value& item : loop->items) {
    loop->depth_of_items = std::max(loop->depth_of_items, item.depth());
  }
  if (node.is_recursive) {
    loop->statement = &node;
    loop->scope = scope;
  }
  if (!TRY(run_body(node, loop, scope)) && !node.otherwise.empty()) {
    TRY(execute(node.otherwise, inner(scope)));
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::Set& node, const ScopePtr& scope) {
  Value value = TRY(evaluate(*node.value, scope));
  TRY(assign(node.target, std::move(value), *scope));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::SetBlock& node,
                                                    const ScopePtr& scope) {
  std::string text = TRY(capture(node.body, inner(scope)));
  Value value = TRY(filter_text(node.value, std::move(text), scope));
  TRY(assign(node.target, std::move(value), *scope));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::MacroDefinition& node,
                                                    const ScopePtr& scope) {
  set_name(node.id, make_macro(node, scope), *scope);
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::CallBlock& node,
                                                    const ScopePtr& scope) {
  const auto& call_node = std::get<ast::Call>(node.call->node);
  const Value callee = TRY(evaluate(*call_node.callee, scope));
  Arguments arguments = TRY(evaluate_arguments(call_node.arguments, scope));
  arguments.named.emplace_back("caller", make_macro(node.caller, scope));
  const Value value = TRY(call(callee, std::move(arguments)));
  TRY(write_value(value));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::FilterBlock& node,
                                                    const ScopePtr& scope) {
  std::string text = TRY(capture(node.body, inner(scope)));
  const Value value = TRY(filter_text(node.value, std::move(text), scope));
  TRY(write_value(value));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::With& node, const ScopePtr& scope) {
  const ScopePtr inside = inner(scope);
  for (const auto& [target, expression] : node.variables) {
    Value value = TRY(evaluate(*expression, scope));
    TRY(assign(target, std::move(value), *inside));
  }
  return execute(node.body, inside);
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::Scoped& node,
                                                    const ScopePtr& scope) {
  return execute(node.body, inner(scope));
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::Autoescape& node,
                                                    const ScopePtr& scope) {
  const bool enabled = TRY(evaluate(*node.enabled, scope)).truthy();
  const bool outer = std::exchange(runtime_.autoescape, enabled);
  const Flow flow = TRY(execute(node.body, inner(scope)));
  runtime_.autoescape = outer;
  return flow;
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::Break& /*node*/,
                                                    const ScopePtr& /*scope*/) {
  return Flow::kBreak;
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::Continue& /*node*/,
                                                    const ScopePtr& /*scope*/) {
  return Flow::kContinue;
}

Result<Interpreter::Flow> Interpreter::execute_node(const ast::NeedsLoader& /*node*/,
                                                    const ScopePtr& /*scope*/) {
  return type_error("no loader for this environment specified");
}

}  // namespace godwit::jinja
