#include "text/jinja/checker.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/error.h"

namespace godwit::jinja {
namespace {

/// Where a node stands.
struct Place {
  /// In a branch that may not run: unknown filters there fail only when it does.
  bool is_soft = false;
  bool in_loop = false;
};

class Checker {
 public:
  Status check(const ast::Body& body, Place place) {
    for (const ast::Statement& statement : body) {
      TRY(std::visit([&](const auto& node) { return check_node(node, place); }, statement.node));
    }
    return {};
  }

 private:
  Status check(const ast::ExpressionPtr& expression, bool soft) {
    if (expression == nullptr) {
      return {};
    }
    return std::visit([&](const auto& node) { return check_node(node, soft); }, expression->node);
  }
  Status check(const std::vector<ast::ExpressionPtr>& expressions, bool soft) {
    for (const ast::ExpressionPtr& expression : expressions) {
      TRY(check(expression, soft));
    }
    return {};
  }
  Status check(const ast::CallArguments& arguments, bool soft) {
    TRY(check(arguments.positional, soft));
    for (const auto& [name, value] : arguments.named) {
      TRY(check(value, soft));
    }
    TRY(check(arguments.star, soft));
    return check(arguments.double_star, soft);
  }

  static Status check_node(const ast::Literal& /*node*/, bool /*soft*/) { return {}; }
  static Status check_node(const ast::Name& /*node*/, bool /*soft*/) { return {}; }
  static Status check_node(const ast::BlockText& /*node*/, bool /*soft*/) { return {}; }
  Status check_node(const ast::ListDisplay& node, bool soft) { return check(node.items, soft); }
  Status check_node(const ast::DictDisplay& node, bool soft) {
    for (const auto& [key, value] : node.members) {
      TRY(check(key, soft));
      TRY(check(value, soft));
    }
    return {};
  }
  Status check_node(const ast::Conditional& node, bool /*soft*/) {
    TRY(check(node.test, true));
    TRY(check(node.then, true));
    return check(node.otherwise, true);
  }
  Status check_node(const ast::Logical& node, bool soft) {
    TRY(check(node.left, soft));
    return check(node.right, soft);
  }
  Status check_node(const ast::Unary& node, bool soft) { return check(node.operand, soft); }
  Status check_node(const ast::Binary& node, bool soft) {
    TRY(check(node.left, soft));
    return check(node.right, soft);
  }
  Status check_node(const ast::Concat& node, bool soft) { return check(node.parts, soft); }
  Status check_node(const ast::Comparison& node, bool soft) {
    TRY(check(node.first, soft));
    for (const auto& [op, operand] : node.rest) {
      TRY(check(operand, soft));
    }
    return {};
  }
  Status check_node(const ast::Attribute& node, bool soft) { return check(node.object, soft); }
  Status check_node(const ast::Item& node, bool soft) {
    TRY(check(node.object, soft));
    return check(node.index, soft);
  }
  Status check_node(const ast::Slice& node, bool soft) {
    TRY(check(node.object, soft));
    TRY(check(node.start, soft));
    TRY(check(node.stop, soft));
    return check(node.step, soft);
  }
  Status check_node(const ast::Call& node, bool soft) {
    TRY(check(node.callee, soft));
    return check(node.arguments, soft);
  }
  Status check_node(const ast::Filter& node, bool soft) {
    if (node.function == nullptr && !soft) {
      return error(ErrorType::kTemplateAssertionError, "No filter named '" + node.name + "'.");
    }
    TRY(check(node.input, soft));
    return check(node.arguments, soft);
  }
  Status check_node(const ast::Test& node, bool soft) {
    if (node.function == nullptr && !soft) {
      return error(ErrorType::kTemplateAssertionError, "No test named '" + node.name + "'.");
    }
    TRY(check(node.subject, soft));
    return check(node.arguments, soft);
  }

  static Status check_node(const ast::Data& /*node*/, Place /*place*/) { return {}; }
  static Status check_node(const ast::NeedsLoader& /*node*/, Place /*place*/) { return {}; }
  Status check_node(const ast::Print& node, Place place) {
    return check(node.value, place.is_soft);
  }
  Status check_node(const ast::If& node, Place place) {
    place.is_soft = true;
    for (const auto& [test, body] : node.branches) {
      TRY(check(test, true));
      TRY(check(body, place));
    }
    return check(node.otherwise, place);
  }
  Status check_node(const ast::For& node, Place place) {
    TRY(check(node.iterable, place.is_soft));
    TRY(check(node.condition, false));
    TRY(check(node.body, Place{.is_soft = false, .in_loop = true}));
    return check(node.otherwise, Place{.is_soft = false, .in_loop = place.in_loop});
  }
  Status check_node(const ast::Set& node, Place place) { return check(node.value, place.is_soft); }
  Status check_node(const ast::SetBlock& node, Place place) {
    TRY(check(node.value, false));
    return check(node.body, Place{.is_soft = false, .in_loop = place.in_loop});
  }
  Status check_node(const ast::MacroDefinition& node, Place /*place*/) {
    for (const ast::Parameter& parameter : node.parameters) {
      TRY(check(parameter.fallback, false));
    }
    return check(node.body, Place{});
  }
  Status check_node(const ast::CallBlock& node, Place place) {
    TRY(check(node.call, place.is_soft));
    return check_node(node.caller, place);
  }
  Status check_node(const ast::FilterBlock& node, Place place) {
    TRY(check(node.value, false));
    return check(node.body, Place{.is_soft = false, .in_loop = place.in_loop});
  }
  Status check_node(const ast::With& node, Place place) {
    for (const auto& [target, value] : node.variables) {
      TRY(check(value, place.is_soft));
    }
    return check(node.body, Place{.is_soft = false, .in_loop = place.in_loop});
  }
  Status check_node(const ast::Scoped& node, Place /*place*/) { return check(node.body, Place{}); }
  Status check_node(const ast::Autoescape& node, Place place) {
    TRY(check(node.enabled, place.is_soft));
    return check(node.body, Place{.is_soft = false, .in_loop = place.in_loop});
  }
  static Status check_node(const ast::Break& /*node*/, Place place) {
    return outside_loop(place, "break");
  }
  static Status check_node(const ast::Continue& /*node*/, Place place) {
    return outside_loop(place, "continue");
  }
  static Status outside_loop(Place place, std::string_view name) {
    if (place.in_loop) {
      return {};
    }
    return error(ErrorType::kTemplateSyntaxError, "'" + std::string(name) + "' outside loop");
  }
};

}  // namespace

Status check_template(const ast::Body& body) {
  return Checker().check(body, Place{});
}

}  // namespace godwit::jinja
