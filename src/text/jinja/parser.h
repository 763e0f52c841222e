#pragma once
// Builds the tree of a template from its tokens, by recursive descent over Jinja's grammar.

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/budget.h"

namespace godwit::jinja {

struct ParsedTemplate {
  ast::Body body;
  /// The names that the template mentions; ids are places in it.
  std::vector<std::string> names;
};

/// Parses a source. Errors: TemplateSyntaxError, TemplateAssertionError for unknown filters and
/// tests, LimitError.
Result<ParsedTemplate> parse(std::string_view source, const Limits& limits);

}  // namespace godwit::jinja
