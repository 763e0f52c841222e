#pragma once
// What Jinja refuses before it renders, though it parses: unknown filters and tests outside of
// branches, and break or continue outside of loops.

#include "base/status.h"
#include "text/jinja/ast.h"

namespace godwit::jinja {

/// Errors: TemplateAssertionError, TemplateSyntaxError.
Status check_template(const ast::Body& body);

}  // namespace godwit::jinja
