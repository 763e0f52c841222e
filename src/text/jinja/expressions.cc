// How the interpreter evaluates expressions.

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/budget.h"
#include "text/jinja/error.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace godwit::jinja {

Result<Value> Interpreter::evaluate(const ast::Expression& expression, const ScopePtr& scope) {
  const DepthGuard guard(runtime_.budget);
  if (!guard.status().ok()) {
    return guard.status();
  }
  TRY(runtime_.budget.charge(1));
  return std::visit([&](const auto& node) { return evaluate_node(node, scope); }, expression.node);
}

Result<Value> Interpreter::evaluate_node(const ast::Literal& node, const ScopePtr& /*scope*/) {
  return node.value;
}

Result<Value> Interpreter::evaluate_node(const ast::Name& node, const ScopePtr& scope) {
  return find_name(node.id, scope.get());
}

Result<Value> Interpreter::evaluate_node(const ast::ListDisplay& node, const ScopePtr& scope) {
  std::vector<Value> items;
  items.reserve(node.items.size());
  for (const ast::ExpressionPtr& item : node.items) {
    items.push_back(TRY(evaluate(*item, scope)));
  }
  return make_sequence(runtime_.budget, std::move(items),
                       node.is_tuple ? SequenceKind::kTuple : SequenceKind::kList);
}

Result<Value> Interpreter::evaluate_node(const ast::DictDisplay& node, const ScopePtr& scope) {
  std::vector<Member> members;
  members.reserve(node.members.size());
  for (const auto& [key_node, value_node] : node.members) {
    Value key = TRY(evaluate(*key_node, scope));
    Value value = TRY(evaluate(*value_node, scope));
    members.emplace_back(std::move(key), std::move(value));
  }
  return make_dict(runtime_.budget, members);
}

Result<Value> Interpreter::evaluate_node(const ast::Conditional& node, const ScopePtr& scope) {
  if (TRY(evaluate(*node.test, scope)).truthy()) {
    return evaluate(*node.then, scope);
  }
  if (node.otherwise != nullptr) {
    return evaluate(*node.otherwise, scope);
  }
  return Value(Undefined{.name = {},
                         .object_type = {},
                         .is_index = false,
                         .is_unsafe = false,
                         .message =
                             "the inline if-expression evaluated to false and no else section "
                             "was defined."});
}

Result<Value> Interpreter::evaluate_node(const ast::Logical& node, const ScopePtr& scope) {
  Value left = TRY(evaluate(*node.left, scope));
  if (left.truthy() == node.is_or) {
    return left;
  }
  return evaluate(*node.right, scope);
}

Result<Value> Interpreter::evaluate_node(const ast::Unary& node, const ScopePtr& scope) {
  const Value operand = TRY(evaluate(*node.operand, scope));
  switch (node.op) {
    case ast::UnaryOperator::kNot:
      return Value(!operand.truthy());
    case ast::UnaryOperator::kNegate:
      return negate(operand);
    case ast::UnaryOperator::kAffirm:
      return affirm(operand);
  }
  return Value();
}

Result<Value> Interpreter::evaluate_node(const ast::Binary& node, const ScopePtr& scope) {
  const Value left = TRY(evaluate(*node.left, scope));
  const Value right = TRY(evaluate(*node.right, scope));
  return apply(runtime_, node.op, left, right);
}

Result<Value> Interpreter::evaluate_node(const ast::Concat& node, const ScopePtr& scope) {
  std::vector<Value> values;
  values.reserve(node.parts.size());
  for (const ast::ExpressionPtr& part : node.parts) {
    values.push_back(TRY(evaluate(*part, scope)));
  }
  const std::size_t limit = runtime_.budget.limits().max_output_bytes;
  std::string text;
  for (const Value& value : values) {
    if (runtime_.autoescape) {
      text += TRY(to_escaped(runtime_.budget, value));
    } else if (value.is_string()) {
      text += value.as_string();
    } else {
      text += TRY(to_text(runtime_.budget, value));
    }
    if (text.size() > limit) {
      break;
    }
  }
  TRY(runtime_.budget.charge_bytes(text.size()));
  return Value(std::move(text), runtime_.autoescape);
}

Result<Value> Interpreter::evaluate_node(const ast::Comparison& node, const ScopePtr& scope) {
  Value left = TRY(evaluate(*node.first, scope));
  for (const auto& [op, operand] : node.rest) {
    Value right = TRY(evaluate(*operand, scope));
    if (!TRY(compare(runtime_.budget, op, left, right))) {
      return Value(false);
    }
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Interpreter::evaluate_node(const ast::Attribute& node, const ScopePtr& scope) {
  const Value object = TRY(evaluate(*node.object, scope));
  return get_attribute(runtime_, object, node.name);
}

Result<Value> Interpreter::evaluate_node(const ast::Item& node, const ScopePtr& scope) {
  const Value object = TRY(evaluate(*node.object, scope));
  const Value index = TRY(evaluate(*node.index, scope));
  return get_item(runtime_, object, index);
}

Result<Value> Interpreter::evaluate_node(const ast::Slice& node, const ScopePtr& scope) {
  const Value object = TRY(evaluate(*node.object, scope));
  const Value start = node.start == nullptr ? Value() : TRY(evaluate(*node.start, scope));
  const Value stop = node.stop == nullptr ? Value() : TRY(evaluate(*node.stop, scope));
  const Value step = node.step == nullptr ? Value() : TRY(evaluate(*node.step, scope));
  return get_slice(runtime_, object, SliceBounds{&start, &stop, &step});
}

Result<Value> Interpreter::evaluate_node(const ast::Call& node, const ScopePtr& scope) {
  const Value callee = TRY(evaluate(*node.callee, scope));
  Arguments arguments = TRY(evaluate_arguments(node.arguments, scope));
  return call(callee, std::move(arguments));
}

Result<Value> Interpreter::evaluate_node(const ast::Filter& node, const ScopePtr& scope) {
  const Value input = TRY(evaluate(*node.input, scope));
  if (node.function == nullptr) {
    return error(ErrorType::kTemplateRuntimeError, "No filter named '" + node.name + "' found.");
  }
  const Arguments arguments = TRY(evaluate_arguments(node.arguments, scope));
  return invoke(runtime_, *node.function, input, arguments);
}

Result<Value> Interpreter::evaluate_node(const ast::Test& node, const ScopePtr& scope) {
  const Value subject = TRY(evaluate(*node.subject, scope));
  if (node.function == nullptr) {
    return error(ErrorType::kTemplateRuntimeError, "No test named '" + node.name + "' found.");
  }
  const Arguments arguments = TRY(evaluate_arguments(node.arguments, scope));
  return invoke(runtime_, *node.function, subject, arguments);
}

Result<Value> Interpreter::evaluate_node(const ast::BlockText& /*node*/,
                                         const ScopePtr& /*scope*/) {
  return block_texts_.back();
}

Result<Arguments> Interpreter::evaluate_arguments(const ast::CallArguments& node,
                                                  const ScopePtr& scope) {
  Arguments arguments;
  arguments.positional.reserve(node.positional.size());
  for (const ast::ExpressionPtr& expression : node.positional) {
    arguments.positional.push_back(TRY(evaluate(*expression, scope)));
  }
  for (const auto& [name, expression] : node.named) {
    arguments.named.emplace_back(name, TRY(evaluate(*expression, scope)));
  }
  if (node.star != nullptr) {
    const Value star = TRY(evaluate(*node.star, scope));
    for (Value& item : TRY(iterate(runtime_.budget, star))) {
      arguments.positional.push_back(std::move(item));
    }
  }
  if (node.double_star != nullptr) {
    const Value mapping = TRY(evaluate(*node.double_star, scope));
    if (!mapping.is(Kind::kDict)) {
      return type_error("argument after ** must be a mapping, not " +
                        std::string(mapping.type_name()));
    }
    for (const Member& member : mapping.as_dict()->members) {
      if (!member.first.is_string()) {
        return type_error("keywords must be strings");
      }
      arguments.named.emplace_back(member.first.as_string(), member.second);
    }
  }
  return arguments;
}

}  // namespace godwit::jinja
