#include "text/jinja/template.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "text/jinja/budget.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"

namespace godwit::jinja {

Result<Template> Template::parse(std::string_view source, const Limits& limits) {
  ParsedTemplate parsed = TRY(jinja::parse(source, limits));
  return Template(std::make_shared<const ParsedTemplate>(std::move(parsed)));
}

Result<std::string> Template::render(std::span<const Variable> variables,
                                     const RenderOptions& options) const {
  Interpreter interpreter(*parsed_, options);
  return interpreter.run(variables);
}

Result<std::string> Template::render(const JsonObject& variables,
                                     const RenderOptions& options) const {
  std::vector<Variable> list;
  list.reserve(variables.size());
  for (const JsonMember& member : variables) {
    list.push_back(Variable{member.first, &member.second});
  }
  return render(list, options);
}

bool Template::mentions(std::string_view name) const {
  return std::find(parsed_->names.begin(), parsed_->names.end(), name) != parsed_->names.end();
}

}  // namespace godwit::jinja
