// Statements of parser.h.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"
#include "text/jinja/parser_state.h"
#include "text/jinja/text.h"

namespace godwit::jinja {

Result<ast::Body> Parser::parse_template() {
  ast::Body body = TRY(parse_body());
  if (current().kind != TokenKind::kEnd) {
    return fail("unexpected '" + describe(current()) + "'");
  }
  return body;
}

/// Parses up to the end of the template, or to a tag that ends the innermost block: the name of
/// that tag is then current.
Result<ast::Body> Parser::parse_body() {
  const Nesting nesting(depth_);
  TRY(check_depth(depth_));
  ast::Body body;
  while (current().kind != TokenKind::kEnd) {
    if (current().kind == TokenKind::kData) {
      body.push_back(ast::Statement{ast::Data{next().text}});
    } else if (current().kind == TokenKind::kPrintBegin) {
      next();
      body.push_back(ast::Statement{ast::Print{TRY(parse_tuple())}});
      TRY(expect(TokenKind::kPrintEnd));
    } else {
      TRY(expect(TokenKind::kBlockBegin));
      if (!ends_.empty() && current().kind == TokenKind::kName &&
          std::find(ends_.back().begin(), ends_.back().end(), current().text) !=
              ends_.back().end()) {
        return body;
      }
      TRY(parse_statement(body));
      TRY(expect(TokenKind::kBlockEnd));
    }
  }
  if (!ends_.empty()) {
    return fail("Unexpected end of template." + looking_for());
  }
  return body;
}

Result<ast::Body> Parser::parse_block_body(const std::vector<std::string>& ends) {
  skip_operator(":");
  TRY(expect(TokenKind::kBlockEnd));
  ends_.push_back(ends);
  ast::Body body = TRY(parse_body());
  ends_.pop_back();
  end_ = next().text;
  return body;
}

std::string Parser::looking_for() const {
  std::string text;
  if (!ends_.empty()) {
    text += " Jinja was looking for the following tags: ";
    for (std::size_t i = 0; i < ends_.back().size(); ++i) {
      text += i == 0 ? "" : " or ";
      text += quoted(ends_.back()[i]);
    }
    text += ".";
  }
  if (!open_tags_.empty()) {
    text += " The innermost block that needs to be closed is " + quoted(open_tags_.back()) + ".";
  }
  return text;
}

Status Parser::fail_unknown_tag(const std::string& name) const {
  std::string message = "Encountered unknown tag " + quoted(name) + ".";
  const bool is_misplaced = std::any_of(ends_.begin(), ends_.end(), [&](const auto& ends) {
    return std::find(ends.begin(), ends.end(), name) != ends.end();
  });
  if (!is_misplaced) {
    return fail(message + looking_for());
  }
  message +=
      " You probably made a nesting mistake. Jinja is expecting this tag, but currently "
      "looking for ";
  for (std::size_t i = 0; i < ends_.back().size(); ++i) {
    message += i == 0 ? "" : " or ";
    message += quoted(ends_.back()[i]);
  }
  message += ".";
  if (!open_tags_.empty()) {
    message += " The innermost block that needs to be closed is " + quoted(open_tags_.back()) + ".";
  }
  return fail(message);
}

Status Parser::parse_statement(ast::Body& body) {
  if (current().kind != TokenKind::kName) {
    return fail("tag name expected");
  }
  const std::string name = current().text;
  struct Tag {
    std::string_view name;
    Result<ast::Statement> (Parser::*parse)();
  };
  constexpr std::array<Tag, 17> kTags = {{
      {"if", &Parser::parse_if},
      {"for", &Parser::parse_for},
      {"set", &Parser::parse_set},
      {"macro", &Parser::parse_macro},
      {"call", &Parser::parse_call_block},
      {"filter", &Parser::parse_filter_block},
      {"with", &Parser::parse_with},
      {"block", &Parser::parse_named_block},
      {"generation", &Parser::parse_generation},
      {"autoescape", &Parser::parse_autoescape},
      {"print", &Parser::parse_print},
      {"break", &Parser::parse_loop_control},
      {"continue", &Parser::parse_loop_control},
      {"extends", &Parser::parse_loader_tag},
      {"include", &Parser::parse_loader_tag},
      {"import", &Parser::parse_loader_tag},
      {"from", &Parser::parse_loader_tag},
  }};
  for (const Tag& tag : kTags) {
    if (tag.name == name) {
      next();
      open_tags_.push_back(name);
      body.push_back(TRY((this->*tag.parse)()));
      open_tags_.pop_back();
      return {};
    }
  }
  return fail_unknown_tag(name);
}

Result<ast::Statement> Parser::parse_print() {
  return ast::Statement{ast::Print{TRY(parse_tuple())}};
}

Result<ast::Statement> Parser::parse_loop_control() {
  if (open_tags_.back() == "break") {
    return ast::Statement{ast::Break{}};
  }
  return ast::Statement{ast::Continue{}};
}

Result<ast::Statement> Parser::parse_if() {
  TupleOptions options;
  options.with_conditional = false;
  ast::If node;
  end_ = "elif";
  while (end_ == "elif") {
    ast::ExpressionPtr test = TRY(parse_tuple(options));
    ast::Body body = TRY(parse_block_body({"elif", "else", "endif"}));
    node.branches.emplace_back(std::move(test), std::move(body));
  }
  if (end_ == "else") {
    node.otherwise = TRY(parse_block_body({"endif"}));
  }
  return ast::Statement{std::move(node)};
}

Result<ast::Statement> Parser::parse_for() {
  ast::For node;
  node.target = TRY(parse_target(false, "in"));
  TRY(expect_name("in"));
  TupleOptions options;
  options.with_conditional = false;
  options.end_name = "recursive";
  node.iterable = TRY(parse_tuple(options));
  if (skip_name("if")) {
    node.condition = TRY(parse_expression());
  }
  node.is_recursive = skip_name("recursive");
  node.body = TRY(parse_block_body({"endfor", "else"}));
  if (end_ == "else") {
    node.otherwise = TRY(parse_block_body({"endfor"}));
  }
  return ast::Statement{std::move(node)};
}

Result<ast::Statement> Parser::parse_set() {
  ast::Target target = TRY(parse_target(true, ""));
  if (skip_operator("=")) {
    return ast::Statement{ast::Set{std::move(target), TRY(parse_tuple())}};
  }
  ast::SetBlock node;
  node.value = TRY(block_text());
  node.value = TRY(parse_filter_chain(std::move(node.value), false));
  node.body = TRY(parse_block_body({"endset"}));
  node.target = std::move(target);
  return ast::Statement{std::move(node)};
}

Result<ast::Target> Parser::target_of(const ast::Expression& expression) const {
  ast::Target target;
  if (const auto* name = std::get_if<ast::Name>(&expression.node)) {
    target.id = name->id;
    return target;
  }
  const auto* display = std::get_if<ast::ListDisplay>(&expression.node);
  if (display == nullptr) {
    return fail("can't assign to an expression");
  }
  target.is_tuple = true;
  for (const ast::ExpressionPtr& item : display->items) {
    target.items.push_back(TRY(target_of(*item)));
  }
  return target;
}

Result<ast::Target> Parser::parse_target(bool with_namespace, std::string_view end_name) {
  if (with_namespace && current().kind == TokenKind::kName &&
      following().kind == TokenKind::kOperator && following().text == ".") {
    ast::Target target;
    target.id = id_of(next().text);
    next();
    target.attribute = TRY(expect_any_name());
    return target;
  }
  TupleOptions options;
  options.simplified = true;
  options.end_name = end_name;
  const ast::ExpressionPtr expression = TRY(parse_tuple(options));
  return target_of(*expression);
}

Status Parser::parse_signature(ast::MacroDefinition& macro) {
  TRY(expect_operator("("));
  while (!is_operator(")")) {
    if (!macro.parameters.empty()) {
      TRY(expect_operator(","));
    }
    ast::Parameter parameter;
    parameter.name = TRY(expect_any_name());
    parameter.id = id_of(parameter.name);
    if (skip_operator("=")) {
      parameter.fallback = TRY(parse_expression());
    } else if (!macro.parameters.empty() && macro.parameters.back().fallback != nullptr) {
      return fail("non-default argument follows default argument");
    }
    macro.parameters.push_back(std::move(parameter));
  }
  return expect_operator(")");
}

Result<ast::Body> Parser::parse_macro_body(ast::MacroDefinition& macro, const std::string& end) {
  macros_.emplace_back();
  ast::Body body = TRY(parse_block_body({end}));
  macro.uses_caller = macros_.back().caller;
  macro.uses_varargs = macros_.back().varargs;
  macro.uses_kwargs = macros_.back().kwargs;
  macros_.pop_back();
  return body;
}

Result<ast::Statement> Parser::parse_macro() {
  ast::MacroDefinition macro;
  macro.name = TRY(expect_any_name());
  macro.id = id_of(macro.name);
  TRY(parse_signature(macro));
  macro.body = TRY(parse_macro_body(macro, "endmacro"));
  return ast::Statement{std::move(macro)};
}

Result<ast::Statement> Parser::parse_call_block() {
  ast::CallBlock node;
  node.caller.name = "caller";
  node.caller.id = id_of("caller");
  if (is_operator("(")) {
    TRY(parse_signature(node.caller));
  }
  node.call = TRY(parse_expression());
  if (!std::holds_alternative<ast::Call>(node.call->node)) {
    return fail("expected call");
  }
  node.caller.body = TRY(parse_macro_body(node.caller, "endcall"));
  return ast::Statement{std::move(node)};
}

Result<ast::Statement> Parser::parse_filter_block() {
  ast::FilterBlock node;
  node.value = TRY(block_text());
  node.value = TRY(parse_filter_chain(std::move(node.value), true));
  node.body = TRY(parse_block_body({"endfilter"}));
  return ast::Statement{std::move(node)};
}

Result<ast::Statement> Parser::parse_with() {
  ast::With node;
  while (current().kind != TokenKind::kBlockEnd) {
    if (!node.variables.empty()) {
      TRY(expect_operator(","));
    }
    const ast::ExpressionPtr target = TRY(parse_primary());
    ast::Target parsed = TRY(target_of(*target));
    TRY(expect_operator("="));
    node.variables.emplace_back(std::move(parsed), TRY(parse_expression()));
  }
  node.body = TRY(parse_block_body({"endwith"}));
  return ast::Statement{std::move(node)};
}

Result<ast::Statement> Parser::parse_named_block() {
  const std::string name = TRY(expect_any_name());
  skip_name("scoped");
  skip_name("required");
  ast::Scoped node{TRY(parse_block_body({"endblock"}))};
  skip_name(name);
  return ast::Statement{std::move(node)};
}

Result<ast::Statement> Parser::parse_generation() {
  return ast::Statement{ast::Scoped{TRY(parse_block_body({"endgeneration"}))}};
}

Result<ast::Statement> Parser::parse_autoescape() {
  ast::Autoescape node;
  node.enabled = TRY(parse_expression());
  node.body = TRY(parse_block_body({"endautoescape"}));
  return ast::Statement{std::move(node)};
}

Result<ast::Statement> Parser::parse_loader_tag() {
  while (current().kind != TokenKind::kBlockEnd && current().kind != TokenKind::kEnd) {
    next();
  }
  return ast::Statement{ast::NeedsLoader{}};
}

}  // namespace godwit::jinja
