#pragma once
// A Jinja template as Hugging Face's chat templates are written: parsed once, rendered for each
// request. It covers the language of jinja2 3.1 with trim_blocks, lstrip_blocks, loop controls and
// the `generation` block, inside the immutable sandbox; there is no loader, so extends, include and
// import fail. Rendering touches no clock, no file and no global, and is bounded by Limits.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "text/jinja/budget.h"
#include "text/jinja/error.h"
#include "text/jinja/runtime.h"

namespace godwit::jinja {

struct ParsedTemplate;

/// A variable for one render. What the template does not mention is not looked at.
struct Variable {
  std::string_view name;
  const Json* value;
};

struct RenderOptions {
  Limits limits = {};
  LocalTime now = {};  ///< What strftime_now() prints.
};

class Template {
 public:
  /// Parses a source. Errors: see describe() in error.h: TemplateSyntaxError,
  /// TemplateAssertionError, LimitError.
  static Result<Template> parse(std::string_view source, const Limits& limits = {});

  /// Renders with the variables; a later one of the same name wins. Errors: any ErrorType.
  /// Threading: may run in several threads at once.
  [[nodiscard]] Result<std::string> render(std::span<const Variable> variables,
                                           const RenderOptions& options) const;
  /// Renders with the members of a JSON object as variables.
  [[nodiscard]] Result<std::string> render(const JsonObject& variables,
                                           const RenderOptions& options) const;

  /// Holds when the template mentions a name, be it as a variable or otherwise.
  [[nodiscard]] bool mentions(std::string_view name) const;

 private:
  explicit Template(std::shared_ptr<const ParsedTemplate> parsed) : parsed_(std::move(parsed)) {}

  std::shared_ptr<const ParsedTemplate> parsed_;
};

}  // namespace godwit::jinja
