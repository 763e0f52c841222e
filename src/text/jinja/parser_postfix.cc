// What follows a primary expression: attributes, subscripts, calls, filters and tests. Part of
// parser.h.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/filters.h"
#include "text/jinja/lexer.h"
#include "text/jinja/parser_state.h"
#include "text/jinja/predicates.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

int argument_depth(const ast::CallArguments& arguments) {
  int depth = std::max(depth_of(arguments.star), depth_of(arguments.double_star));
  for (const ast::ExpressionPtr& node : arguments.positional) {
    depth = std::max(depth, depth_of(node));
  }
  for (const auto& [name, node] : arguments.named) {
    depth = std::max(depth, depth_of(node));
  }
  return depth;
}

}  // namespace

Parser::Expr Parser::parse_postfix(ast::ExpressionPtr node) {
  while (true) {
    if (is_operator(".")) {
      node = TRY(parse_dot(std::move(node)));
    } else if (is_operator("[")) {
      node = TRY(parse_bracket(std::move(node)));
    } else if (is_operator("(")) {
      node = TRY(parse_call(std::move(node)));
    } else {
      return node;
    }
  }
}

Parser::Expr Parser::parse_filters_and_tests(ast::ExpressionPtr node) {
  while (true) {
    if (is_operator("|")) {
      node = TRY(parse_filter(std::move(node)));
    } else if (is_name("is")) {
      node = TRY(parse_test(std::move(node)));
    } else if (is_operator("(")) {
      node = TRY(parse_call(std::move(node)));
    } else {
      return node;
    }
  }
}

Parser::Expr Parser::parse_dot(ast::ExpressionPtr node) {
  next();
  const Token token = next();
  const int depth = node->depth;
  if (token.kind == TokenKind::kName) {
    return make(ast::Attribute{std::move(node), token.text}, depth);
  }
  if (token.kind != TokenKind::kInteger || token.text.size() > 9) {
    return fail("expected name or number");
  }
  ast::ExpressionPtr index =
      TRY(make(ast::Literal{Value(std::int64_t{std::atoi(token.text.c_str())})}, 0));
  return make(ast::Item{std::move(node), std::move(index)}, depth);
}

Parser::Expr Parser::parse_bracket(ast::ExpressionPtr node) {
  next();
  ast::Slice slice;
  bool is_slice = false;
  std::vector<ast::ExpressionPtr> indices;
  while (!is_operator("]")) {
    if (!indices.empty()) {
      TRY(expect_operator(","));
    }
    if (!is_operator(":")) {
      indices.push_back(TRY(parse_expression()));
    }
    if (!is_operator(":")) {
      continue;
    }
    if (is_slice || indices.size() > 1) {
      return fail("a slice must stand alone in its brackets");
    }
    is_slice = true;
    next();
    if (!indices.empty()) {
      slice.start = std::move(indices.front());
      indices.clear();
    }
    const auto ends = [&] { return is_operator("]") || is_operator(":"); };
    slice.stop = ends() ? nullptr : TRY(parse_expression());
    if (skip_operator(":")) {
      slice.step = ends() ? nullptr : TRY(parse_expression());
    }
    if (!is_operator("]")) {
      return fail_expected("]");
    }
  }
  TRY(expect_operator("]"));
  int depth = node->depth;
  if (is_slice) {
    depth = std::max({depth, depth_of(slice.start), depth_of(slice.stop), depth_of(slice.step)});
    slice.object = std::move(node);
    return make(std::move(slice), depth);
  }
  for (const ast::ExpressionPtr& index : indices) {
    depth = std::max(depth, index->depth);
  }
  ast::ExpressionPtr index;
  if (indices.size() == 1) {
    index = std::move(indices.front());
  } else {
    index = TRY(make(ast::ListDisplay{std::move(indices), true}, depth));
  }
  return make(ast::Item{std::move(node), std::move(index)}, std::max(depth, 1));
}

Result<ast::CallArguments> Parser::parse_arguments() {
  TRY(expect_operator("("));
  ast::CallArguments arguments;
  bool needs_comma = false;
  while (!is_operator(")")) {
    if (needs_comma) {
      TRY(expect_operator(","));
      if (is_operator(")")) {
        break;
      }
    }
    needs_comma = true;
    if (skip_operator("*")) {
      if (arguments.star != nullptr || arguments.double_star != nullptr) {
        return fail("invalid syntax for function call expression");
      }
      arguments.star = TRY(parse_expression());
    } else if (skip_operator("**")) {
      if (arguments.double_star != nullptr) {
        return fail("invalid syntax for function call expression");
      }
      arguments.double_star = TRY(parse_expression());
    } else if (current().kind == TokenKind::kName && following().kind == TokenKind::kOperator &&
               following().text == "=") {
      std::string name = next().text;
      next();
      arguments.named.emplace_back(std::move(name), TRY(parse_expression()));
    } else {
      if (!arguments.named.empty() || arguments.star != nullptr ||
          arguments.double_star != nullptr) {
        return fail("invalid syntax for function call expression");
      }
      arguments.positional.push_back(TRY(parse_expression()));
    }
  }
  TRY(expect_operator(")"));
  return arguments;
}

Parser::Expr Parser::parse_call(ast::ExpressionPtr node) {
  ast::CallArguments arguments = TRY(parse_arguments());
  const int depth = std::max(node->depth, argument_depth(arguments));
  return make(ast::Call{std::move(node), std::move(arguments)}, depth);
}

Result<std::string> Parser::parse_dotted_name() {
  std::string name = TRY(expect_any_name());
  while (skip_operator(".")) {
    name += "." + TRY(expect_any_name());
  }
  return name;
}

Parser::Expr Parser::parse_filter(ast::ExpressionPtr node) {
  TRY(expect_operator("|"));
  ast::Filter filter;
  filter.name = TRY(parse_dotted_name());
  filter.function = find_filter(filter.name);
  if (is_operator("(")) {
    filter.arguments = TRY(parse_arguments());
  }
  const int depth = std::max(node->depth, argument_depth(filter.arguments));
  filter.input = std::move(node);
  return make(std::move(filter), depth);
}

Parser::Expr Parser::parse_filter_chain(ast::ExpressionPtr node, bool starts_inline) {
  if (starts_inline) {
    ast::Filter filter;
    filter.name = TRY(parse_dotted_name());
    filter.function = find_filter(filter.name);
    if (is_operator("(")) {
      filter.arguments = TRY(parse_arguments());
    }
    const int depth = std::max(node->depth, argument_depth(filter.arguments));
    filter.input = std::move(node);
    node = TRY(make(std::move(filter), depth));
  }
  while (is_operator("|")) {
    node = TRY(parse_filter(std::move(node)));
  }
  return node;
}

Parser::Expr Parser::parse_test(ast::ExpressionPtr node) {
  TRY(expect_name("is"));
  const bool negated = skip_name("not");
  ast::Test test;
  test.name = TRY(parse_dotted_name());
  test.function = find_test(test.name);
  const Token& token = current();
  const bool starts_argument =
      token.kind == TokenKind::kString || token.kind == TokenKind::kInteger ||
      token.kind == TokenKind::kFloat || is_operator("[") || is_operator("{") ||
      (token.kind == TokenKind::kName && !is_name("else") && !is_name("or") && !is_name("and"));
  if (is_operator("(")) {
    test.arguments = TRY(parse_arguments());
  } else if (starts_argument) {
    if (is_name("is")) {
      return fail("You cannot chain multiple tests with is");
    }
    ast::ExpressionPtr argument = TRY(parse_primary());
    test.arguments.positional.push_back(TRY(parse_postfix(std::move(argument))));
  }
  const int depth = std::max(node->depth, argument_depth(test.arguments));
  test.subject = std::move(node);
  ast::ExpressionPtr result = TRY(make(std::move(test), depth));
  if (negated) {
    return make(ast::Unary{ast::UnaryOperator::kNot, std::move(result)}, depth + 1);
  }
  return result;
}

}  // namespace godwit::jinja
