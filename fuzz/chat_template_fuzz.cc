// Hostile templates: the first line is the JSON of the variables, the rest the template. Nothing
// but a text or an error that says its type may come of them, within small limits.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "text/jinja/error.h"
#include "text/jinja/template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(data, data + size);
  const std::size_t line = std::min(input.find('\n'), input.size());
  const auto variables = godwit::parse_json(std::string_view(input).substr(0, line), "fuzz");
  const std::string_view source = std::string_view(input).substr(std::min(line + 1, input.size()));
  const auto parsed = godwit::jinja::Template::parse(source);
  if (!parsed.ok()) {
    CHECK(godwit::jinja::describe(parsed.status()).type != "InternalError");
    return 0;
  }
  godwit::jinja::RenderOptions options;
  options.limits.max_steps = 100'000;
  options.limits.max_output_bytes = std::size_t{1} << 20U;
  const bool has_variables = variables.ok() && variables->is_object();
  const auto rendered =
      parsed->render(has_variables ? variables->as_object() : godwit::JsonObject(), options);
  if (!rendered.ok()) {
    CHECK(godwit::jinja::describe(rendered.status()).type != "InternalError");
    return 0;
  }
  CHECK_LE(rendered->size(), options.limits.max_output_bytes);
  return 0;
}
