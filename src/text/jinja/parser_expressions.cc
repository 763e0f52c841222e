// Expressions of parser.h.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/error.h"
#include "text/jinja/lexer.h"
#include "text/jinja/parser_state.h"
#include "text/jinja/value.h"

namespace godwit::jinja {

Status Parser::check_depth(int depth) const {
  if (depth > limits_.max_source_depth) {
    return error(ErrorType::kLimitError, "the template nests deeper than max_source_depth (" +
                                             std::to_string(limits_.max_source_depth) + ")");
  }
  return {};
}

int Parser::id_of(const std::string& name) {
  const auto [it, is_new] = ids_.emplace(name, static_cast<int>(names_.size()));
  if (is_new) {
    names_.push_back(name);
  }
  return it->second;
}

Result<ast::ExpressionPtr> Parser::name_expression(const std::string& name) {
  for (MacroUse& macro : macros_) {
    macro.caller = macro.caller || name == "caller";
    macro.varargs = macro.varargs || name == "varargs";
    macro.kwargs = macro.kwargs || name == "kwargs";
  }
  return make(ast::Name{id_of(name)}, 0);
}

bool Parser::is_tuple_end(std::string_view end_name) const {
  return current().kind == TokenKind::kPrintEnd || current().kind == TokenKind::kBlockEnd ||
         is_operator(")") || (!end_name.empty() && is_name(end_name));
}

Parser::Expr Parser::parse_tuple(const TupleOptions& options) {
  ast::ListDisplay tuple{{}, true};
  bool has_comma = false;
  int depth = 0;
  while (true) {
    if (!tuple.items.empty()) {
      TRY(expect_operator(","));
    }
    if (is_tuple_end(options.end_name)) {
      break;
    }
    tuple.items.push_back(options.simplified ? TRY(parse_primary())
                                             : TRY(parse_expression(options.with_conditional)));
    depth = std::max(depth, tuple.items.back()->depth);
    if (!is_operator(",")) {
      break;
    }
    has_comma = true;
  }
  if (!has_comma) {
    if (!tuple.items.empty()) {
      return std::move(tuple.items.front());
    }
    if (!options.explicit_parentheses) {
      return fail("Expected an expression, got '" + describe(current()) + "'");
    }
  }
  return make(std::move(tuple), depth);
}

Parser::Expr Parser::parse_expression(bool with_conditional) {
  const Nesting nesting(depth_);
  TRY(check_depth(depth_));
  return with_conditional ? parse_conditional() : parse_or();
}

Parser::Expr Parser::parse_conditional() {
  ast::ExpressionPtr value = TRY(parse_or());
  while (skip_name("if")) {
    ast::Conditional node;
    node.test = TRY(parse_or());
    node.then = std::move(value);
    if (skip_name("else")) {
      const Nesting nesting(depth_);
      TRY(check_depth(depth_));
      node.otherwise = TRY(parse_conditional());
    }
    const int depth =
        std::max({depth_of(node.test), depth_of(node.then), depth_of(node.otherwise)});
    value = TRY(make(std::move(node), depth));
  }
  return value;
}

Parser::Expr Parser::parse_or() {
  ast::ExpressionPtr left = TRY(parse_and());
  while (skip_name("or")) {
    ast::ExpressionPtr right = TRY(parse_and());
    const int depth = std::max(left->depth, right->depth);
    left = TRY(make(ast::Logical{true, std::move(left), std::move(right)}, depth));
  }
  return left;
}

Parser::Expr Parser::parse_and() {
  ast::ExpressionPtr left = TRY(parse_not());
  while (skip_name("and")) {
    ast::ExpressionPtr right = TRY(parse_not());
    const int depth = std::max(left->depth, right->depth);
    left = TRY(make(ast::Logical{false, std::move(left), std::move(right)}, depth));
  }
  return left;
}

Parser::Expr Parser::parse_not() {
  int count = 0;
  while (skip_name("not")) {
    ++count;
  }
  ast::ExpressionPtr node = TRY(parse_comparison());
  for (; count > 0; --count) {
    const int depth = node->depth;
    node = TRY(make(ast::Unary{ast::UnaryOperator::kNot, std::move(node)}, depth));
  }
  return node;
}

Parser::Expr Parser::parse_comparison() {
  constexpr std::array<std::pair<std::string_view, CompareOperator>, 6> kSigns = {{
      {"==", CompareOperator::kEqual},
      {"!=", CompareOperator::kNotEqual},
      {"<", CompareOperator::kLess},
      {"<=", CompareOperator::kLessEqual},
      {">", CompareOperator::kGreater},
      {">=", CompareOperator::kGreaterEqual},
  }};
  ast::Comparison node;
  node.first = TRY(parse_sum());
  int depth = node.first->depth;
  while (true) {
    const auto* sign = std::find_if(kSigns.begin(), kSigns.end(), [&](const auto& candidate) {
      return is_operator(candidate.first);
    });
    CompareOperator op = CompareOperator::kIn;
    if (sign != kSigns.end()) {
      op = sign->second;
      next();
    } else if (is_name("not") && following().kind == TokenKind::kName && following().text == "in") {
      op = CompareOperator::kNotIn;
      next();
      next();
    } else if (!skip_name("in")) {
      break;
    }
    node.rest.emplace_back(op, TRY(parse_sum()));
    depth = std::max(depth, node.rest.back().second->depth);
  }
  if (node.rest.empty()) {
    return std::move(node.first);
  }
  return make(std::move(node), depth);
}

Parser::Expr Parser::parse_sum() {
  ast::ExpressionPtr left = TRY(parse_concat());
  while (is_operator("+") || is_operator("-")) {
    const BinaryOperator op = next().text == "+" ? BinaryOperator::kAdd : BinaryOperator::kSubtract;
    ast::ExpressionPtr right = TRY(parse_concat());
    const int depth = std::max(left->depth, right->depth);
    left = TRY(make(ast::Binary{op, std::move(left), std::move(right)}, depth));
  }
  return left;
}

Parser::Expr Parser::parse_concat() {
  ast::Concat node;
  node.parts.push_back(TRY(parse_product()));
  int depth = node.parts.back()->depth;
  while (skip_operator("~")) {
    node.parts.push_back(TRY(parse_product()));
    depth = std::max(depth, node.parts.back()->depth);
  }
  if (node.parts.size() == 1) {
    return std::move(node.parts.front());
  }
  return make(std::move(node), depth);
}

Parser::Expr Parser::parse_product() {
  ast::ExpressionPtr left = TRY(parse_power());
  while (is_operator("*") || is_operator("/") || is_operator("//") || is_operator("%")) {
    const std::string text = next().text;
    BinaryOperator op = BinaryOperator::kModulo;
    if (text == "*") {
      op = BinaryOperator::kMultiply;
    } else if (text != "%") {
      op = text == "/" ? BinaryOperator::kDivide : BinaryOperator::kFloorDivide;
    }
    ast::ExpressionPtr right = TRY(parse_power());
    const int depth = std::max(left->depth, right->depth);
    left = TRY(make(ast::Binary{op, std::move(left), std::move(right)}, depth));
  }
  return left;
}

Parser::Expr Parser::parse_power() {
  ast::ExpressionPtr left = TRY(parse_unary());
  while (skip_operator("**")) {
    ast::ExpressionPtr right = TRY(parse_unary());
    const int depth = std::max(left->depth, right->depth);
    left = TRY(make(ast::Binary{BinaryOperator::kPower, std::move(left), std::move(right)}, depth));
  }
  return left;
}

Parser::Expr Parser::parse_unary(bool with_filter) {
  ast::ExpressionPtr node;
  if (is_operator("-") || is_operator("+")) {
    const Nesting nesting(depth_);
    TRY(check_depth(depth_));
    const ast::UnaryOperator op =
        next().text == "-" ? ast::UnaryOperator::kNegate : ast::UnaryOperator::kAffirm;
    ast::ExpressionPtr operand = TRY(parse_unary(false));
    const int depth = operand->depth;
    node = TRY(make(ast::Unary{op, std::move(operand)}, depth));
  } else {
    node = TRY(parse_primary());
  }
  node = TRY(parse_postfix(std::move(node)));
  if (with_filter) {
    node = TRY(parse_filters_and_tests(std::move(node)));
  }
  return node;
}

Parser::Expr Parser::parse_primary() {
  const Token& token = current();
  switch (token.kind) {
    case TokenKind::kName: {
      const std::string name = next().text;
      if (name == "true" || name == "True" || name == "false" || name == "False") {
        return make(ast::Literal{Value(name == "true" || name == "True")}, 0);
      }
      if (name == "none" || name == "None") {
        return make(ast::Literal{Value()}, 0);
      }
      return name_expression(name);
    }
    case TokenKind::kString:
      return parse_strings();
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return parse_number();
    case TokenKind::kOperator:
      if (token.text == "(") {
        next();
        TupleOptions options;
        options.explicit_parentheses = true;
        ast::ExpressionPtr node = TRY(parse_tuple(options));
        TRY(expect_operator(")"));
        return node;
      }
      if (token.text == "[") {
        return parse_list();
      }
      if (token.text == "{") {
        return parse_dict();
      }
      break;
    default:
      break;
  }
  return fail("unexpected '" + describe(token) + "'");
}

Parser::Expr Parser::parse_strings() {
  std::string text;
  while (current().kind == TokenKind::kString) {
    text += next().text;
  }
  return make(ast::Literal{Value(std::move(text))}, 0);
}

Parser::Expr Parser::parse_number() {
  const Token token = next();
  if (token.kind == TokenKind::kFloat) {
    return make(ast::Literal{Value(std::strtod(token.text.c_str(), nullptr))}, 0);
  }
  std::string_view digits = token.text;
  Integer base = 10;
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] < '0' || digits[1] > '9')) {
    const char letter = static_cast<char>(digits[1] | 0x20);
    base = letter == 'x' ? 16 : (letter == 'o' ? 8 : 2);
    digits.remove_prefix(2);
  }
  Integer value = 0;
  for (const char c : digits) {
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    if (__builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, Integer{digit}, &value)) {
      return fail("the integer " + token.text.substr(0, 40) + " does not fit 128 bits");
    }
  }
  return make(ast::Literal{Value(value)}, 0);
}

Parser::Expr Parser::parse_list() {
  TRY(expect_operator("["));
  ast::ListDisplay list;
  int depth = 0;
  while (!is_operator("]")) {
    if (!list.items.empty()) {
      TRY(expect_operator(","));
    }
    if (is_operator("]")) {
      break;
    }
    list.items.push_back(TRY(parse_expression()));
    depth = std::max(depth, list.items.back()->depth);
  }
  TRY(expect_operator("]"));
  return make(std::move(list), depth);
}

Parser::Expr Parser::parse_dict() {
  TRY(expect_operator("{"));
  ast::DictDisplay dict;
  int depth = 0;
  while (!is_operator("}")) {
    if (!dict.members.empty()) {
      TRY(expect_operator(","));
    }
    if (is_operator("}")) {
      break;
    }
    ast::ExpressionPtr key = TRY(parse_expression());
    TRY(expect_operator(":"));
    ast::ExpressionPtr value = TRY(parse_expression());
    depth = std::max({depth, key->depth, value->depth});
    dict.members.emplace_back(std::move(key), std::move(value));
  }
  TRY(expect_operator("}"));
  return make(std::move(dict), depth);
}

Parser::Expr Parser::block_text() {
  return make(ast::BlockText{}, 0);
}

}  // namespace godwit::jinja
