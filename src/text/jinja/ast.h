#pragma once
// The parsed template: expressions and statements as plain values. Names are numbers, looked up
// once while parsing; filters and tests are rows of their tables, or null pointers when unknown.

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace godwit::jinja::ast {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Body = std::vector<Statement>;

struct Literal {
  Value value;
};
struct Name {
  int id;
};
struct ListDisplay {
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
};
struct DictDisplay {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> members;
};
struct Conditional {
  ExpressionPtr test;
  ExpressionPtr then;
  ExpressionPtr otherwise;  ///< May be null.
};
struct Logical {
  bool is_or;
  ExpressionPtr left;
  ExpressionPtr right;
};
enum class UnaryOperator { kNot, kNegate, kAffirm };
struct Unary {
  UnaryOperator op;
  ExpressionPtr operand;
};
struct Binary {
  BinaryOperator op;
  ExpressionPtr left;
  ExpressionPtr right;
};
/// a ~ b ~ c
struct Concat {
  std::vector<ExpressionPtr> parts;
};
/// a < b < c
struct Comparison {
  ExpressionPtr first;
  std::vector<std::pair<CompareOperator, ExpressionPtr>> rest;
};
struct Attribute {
  ExpressionPtr object;
  std::string name;
};
struct Item {
  ExpressionPtr object;
  ExpressionPtr index;
};
/// Each bound may be null.
struct Slice {
  ExpressionPtr object;
  ExpressionPtr start;
  ExpressionPtr stop;
  ExpressionPtr step;
};
struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star;         ///< May be null.
  ExpressionPtr double_star;  ///< May be null.
};
struct Call {
  ExpressionPtr callee;
  CallArguments arguments;
};
struct Filter {
  ExpressionPtr input;
  std::string name;
  const Function* function;
  CallArguments arguments;
};
struct Test {
  ExpressionPtr subject;
  std::string name;
  const Function* function;
  CallArguments arguments;
};
/// The text of the block around it: the input of the filters of `set` and `filter` blocks.
struct BlockText {};

struct Expression {
  std::variant<Literal, Name, ListDisplay, DictDisplay, Conditional, Logical, Unary, Binary, Concat,
               Comparison, Attribute, Item, Slice, Call, Filter, Test, BlockText>
      node;
  int line = 0;
  int depth = 1;  ///< Levels of expressions, itself included.
};

/// What `set` and `for` assign to: a name, an attribute of a namespace, or a tuple of targets.
struct Target {
  int id = -1;
  std::string attribute;  ///< Of the namespace `id`; empty for a plain name.
  bool is_tuple = false;
  std::vector<Target> items;
};

struct Parameter {
  int id;
  std::string name;
  ExpressionPtr fallback;  ///< May be null.
};

struct Data {
  std::string text;
};
struct Print {
  ExpressionPtr value;
};
struct If {
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  Body otherwise;
};
struct For {
  Target target;
  ExpressionPtr iterable;
  ExpressionPtr condition;  ///< May be null.
  Body body;
  Body otherwise;
  bool is_recursive = false;
};
struct Set {
  Target target;
  ExpressionPtr value;
};
struct SetBlock {
  Target target;
  ExpressionPtr value;  ///< Filters over a BlockText.
  Body body;
};
/// A macro, or the body of a call block, which is the macro `caller`.
struct MacroDefinition {
  std::string name;
  int id = -1;
  std::vector<Parameter> parameters;
  Body body;
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
};
struct CallBlock {
  ExpressionPtr call;
  MacroDefinition caller;
};
struct FilterBlock {
  ExpressionPtr value;  ///< Filters over a BlockText.
  Body body;
};
struct With {
  std::vector<std::pair<Target, ExpressionPtr>> variables;
  Body body;
};
/// A body with a scope of its own: `generation` and `block`, which are functions to Jinja.
struct Scoped {
  Body body;
};
struct Autoescape {
  ExpressionPtr enabled;
  Body body;
};
struct Break {};
struct Continue {};
/// extends, include and import, which need a loader that chat templates do not have.
struct NeedsLoader {};

struct Statement {
  std::variant<Data, Print, If, For, Set, SetBlock, MacroDefinition, CallBlock, FilterBlock, With,
               Scoped, Autoescape, Break, Continue, NeedsLoader>
      node;
};

}  // namespace godwit::jinja::ast
