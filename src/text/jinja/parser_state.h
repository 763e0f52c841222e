#pragma once
// The parser's class, shared by the files that parse expressions and statements. Not for others.

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/budget.h"
#include "text/jinja/lexer.h"

namespace godwit::jinja {

/// Counts a recursion of the parser for the life of a block.
class Nesting {
 public:
  explicit Nesting(int& depth) : depth_(depth) { ++depth_; }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  Nesting(Nesting&&) = delete;
  Nesting& operator=(Nesting&&) = delete;

 private:
  int& depth_;
};

/// Levels of an expression that may be absent.
inline int depth_of(const ast::ExpressionPtr& node) {
  return node == nullptr ? 0 : node->depth;
}

class Parser {
 public:
  Parser(std::vector<Token> tokens, const Limits& limits)
      : tokens_(std::move(tokens)), limits_(limits) {}

  /// Parses the whole template.
  Result<ast::Body> parse_template();
  std::vector<std::string> take_names() { return std::move(names_); }

 private:
  using Expr = Result<ast::ExpressionPtr>;

  /// Which special names the macros around use.
  struct MacroUse {
    bool caller = false;
    bool varargs = false;
    bool kwargs = false;
  };

  // Tokens.
  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] const Token& following() const {
    return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
  }
  Token next();
  [[nodiscard]] bool is_operator(std::string_view text) const;
  [[nodiscard]] bool is_name(std::string_view text) const;
  bool skip_operator(std::string_view text);
  bool skip_name(std::string_view text);
  Status expect_operator(std::string_view text);
  Status expect_name(std::string_view text);
  Result<std::string> expect_any_name();
  Status expect(TokenKind kind);

  // Errors and nodes.
  [[nodiscard]] Status fail(std::string_view message) const;
  [[nodiscard]] Status fail_expected(std::string_view what) const;
  /// Wraps a node, whose deepest part has `depth` levels.
  template <class Node>
  Expr make(Node node, int depth) const;
  [[nodiscard]] Status check_depth(int depth) const;
  Expr block_text();
  int id_of(const std::string& name);
  Result<ast::ExpressionPtr> name_expression(const std::string& name);

  // Expressions, from the loosest to the tightest.
  struct TupleOptions {
    bool simplified = false;  ///< Primaries only, for targets.
    bool with_conditional = true;
    bool explicit_parentheses = false;
    std::string_view end_name;  ///< A name that ends the tuple.
  };
  Expr parse_tuple(const TupleOptions& options);
  Expr parse_tuple() { return parse_tuple(TupleOptions()); }
  [[nodiscard]] bool is_tuple_end(std::string_view end_name) const;
  Expr parse_expression(bool with_conditional = true);
  Expr parse_conditional();
  Expr parse_or();
  Expr parse_and();
  Expr parse_not();
  Expr parse_comparison();
  Expr parse_sum();
  Expr parse_concat();
  Expr parse_product();
  Expr parse_power();
  Expr parse_unary(bool with_filter = true);
  Expr parse_primary();
  Expr parse_number();
  Expr parse_strings();
  Expr parse_list();
  Expr parse_dict();
  Expr parse_postfix(ast::ExpressionPtr node);
  Expr parse_filters_and_tests(ast::ExpressionPtr node);
  Expr parse_dot(ast::ExpressionPtr node);
  Expr parse_bracket(ast::ExpressionPtr node);
  Expr parse_call(ast::ExpressionPtr node);
  Expr parse_filter(ast::ExpressionPtr node);
  Expr parse_filter_chain(ast::ExpressionPtr node, bool starts_inline);
  Expr parse_test(ast::ExpressionPtr node);
  Result<ast::CallArguments> parse_arguments();
  Result<std::string> parse_dotted_name();

  // Statements.
  Result<ast::Body> parse_body();
  /// Parses the end of a block's first tag and its body, up to one of `ends`, whose name goes to
  /// end_.
  Result<ast::Body> parse_block_body(const std::vector<std::string>& ends);
  Status parse_statement(ast::Body& body);
  Result<ast::Statement> parse_print();
  Result<ast::Statement> parse_loop_control();
  Result<ast::Statement> parse_if();
  Result<ast::Statement> parse_for();
  Result<ast::Statement> parse_set();
  Result<ast::Statement> parse_macro();
  Result<ast::Statement> parse_call_block();
  Result<ast::Statement> parse_filter_block();
  Result<ast::Statement> parse_with();
  Result<ast::Statement> parse_named_block();
  Result<ast::Statement> parse_generation();
  Result<ast::Statement> parse_autoescape();
  Result<ast::Statement> parse_loader_tag();
  Result<ast::Target> parse_target(bool with_namespace, std::string_view end_name);
  Result<ast::Target> target_of(const ast::Expression& expression) const;
  Status parse_signature(ast::MacroDefinition& macro);
  Result<ast::Body> parse_macro_body(ast::MacroDefinition& macro, const std::string& end);
  [[nodiscard]] Status fail_unknown_tag(const std::string& name) const;
  [[nodiscard]] std::string looking_for() const;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Limits limits_;
  int depth_ = 0;
  std::vector<std::string> names_;
  std::unordered_map<std::string, int> ids_;
  std::vector<MacroUse> macros_;
  /// The tags that are open, and what may end each.
  std::vector<std::string> open_tags_;
  std::vector<std::vector<std::string>> ends_;
  std::string end_;
};

template <class Node>
Result<ast::ExpressionPtr> Parser::make(Node node, int depth) const {
  // Chains such as a + b + c nest without the parser recursing.
  TRY(check_depth(depth + 1));
  auto expression = std::make_unique<ast::Expression>();
  expression->node = std::move(node);
  expression->line = current().line;
  expression->depth = depth + 1;
  return expression;
}

}  // namespace godwit::jinja
