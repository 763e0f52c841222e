#pragma once
// Walks the tree of a template and writes its render. One object renders once.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/parser.h"
#include "text/jinja/runtime.h"
#include "text/jinja/template.h"
#include "text/jinja/value.h"

namespace godwit::jinja {

/// The names assigned in one block. Those of the outermost block are the interpreter's globals.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<int, Value>> names;
};
using ScopePtr = std::shared_ptr<Scope>;

/// A macro with the block it was defined in, whose names it sees.
struct Macro {
  const ast::MacroDefinition* definition;
  ScopePtr scope;
};

class Interpreter {
 public:
  Interpreter(const ParsedTemplate& parsed, const RenderOptions& options);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  Interpreter(Interpreter&&) = delete;
  Interpreter& operator=(Interpreter&&) = delete;

  Result<std::string> run(std::span<const Variable> variables);

 private:
  /// Where control goes after a statement.
  enum class Flow { kNext, kBreak, kContinue };

  // Names.
  [[nodiscard]] int id_of(std::string_view name) const;
  Result<Value> find_name(int id, const Scope* scope) const;
  void set_name(int id, Value value, Scope& scope);
  Status assign(const ast::Target& target, Value value, Scope& scope);
  Status assign_tuple(const ast::Target& target, const Value& value, Scope& scope);
  static ScopePtr inner(const ScopePtr& scope) { return std::make_shared<Scope>(Scope{scope, {}}); }

  // Output.
  Status write(std::string_view text);
  Status write_value(const Value& value);

  // Statements.
  Result<Flow> execute(const ast::Body& body, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::Data& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::Print& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::If& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::For& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::Set& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::SetBlock& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::MacroDefinition& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::CallBlock& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::FilterBlock& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::With& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::Scoped& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::Autoescape& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::Break& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::Continue& node, const ScopePtr& scope);
  Result<Flow> execute_node(const ast::NeedsLoader& node, const ScopePtr& scope);
  Result<Flow> run_loop(const ast::For& node, const Value& iterable, const ScopePtr& scope,
                        std::int64_t depth0);
  Result<std::vector<Value>> loop_items(const ast::For& node, const Value& iterable,
                                        const ScopePtr& scope);
  Result<bool> run_body(const ast::For& node, const std::shared_ptr<Loop>& loop,
                        const ScopePtr& scope);
  /// Executes a body and returns its text instead of writing it.
  Result<std::string> capture(const ast::Body& body, const ScopePtr& scope);
  /// Evaluates filters over the text of a block.
  Result<Value> filter_text(const ast::ExpressionPtr& filters, std::string text,
                            const ScopePtr& scope);
  Value make_macro(const ast::MacroDefinition& definition, const ScopePtr& scope);

  // Expressions.
  Result<Value> evaluate(const ast::Expression& expression, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Literal& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Name& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::ListDisplay& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::DictDisplay& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Conditional& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Logical& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Unary& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Binary& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Concat& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Comparison& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Attribute& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Item& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Slice& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Call& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Filter& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::Test& node, const ScopePtr& scope);
  Result<Value> evaluate_node(const ast::BlockText& node, const ScopePtr& scope);
  Result<Arguments> evaluate_arguments(const ast::CallArguments& node, const ScopePtr& scope);
  Result<Value> call(const Value& callee, Arguments arguments);
  Result<Value> call_macro(const Macro& macro, Arguments arguments);
  Status bind_parameters(const ast::MacroDefinition& macro, Arguments& arguments,
                         const ScopePtr& scope);
  Result<Value> call_loop(const Value& callee, const Arguments& arguments);

  const ParsedTemplate& parsed_;
  Runtime runtime_;
  std::vector<std::optional<Value>> globals_;
  ScopePtr root_;
  /// Scopes that macros hold on to, so that cycles through them can be cut at the end.
  std::vector<ScopePtr> captured_;
  std::vector<Value> block_texts_;
  std::string* out_ = nullptr;
  int loop_id_;
  int caller_id_;
  int varargs_id_;
  int kwargs_id_;
};

}  // namespace godwit::jinja
