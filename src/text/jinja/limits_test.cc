// Templates that mean harm: each must end in an error that names the limit, quickly.

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/template.h"

namespace godwit::jinja {
namespace {

Result<std::string> render(std::string_view source, const RenderOptions& options = {}) {
  const Template parsed = TRY(Template::parse(source));
  return parsed.render(JsonObject(), options);
}

std::string repeat(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += text;
  }
  return out;
}

void expect_error(std::string_view source, std::string_view type, std::string_view part) {
  SCOPED_TRACE(std::string(source.substr(0, 100)));
  RenderOptions options;
  // Enough for nearly every other limit to be reached first, and quick in a debug build.
  options.limits.max_steps = 400'000;
  const Result<std::string> result = render(source, options);
  ASSERT_FALSE(result.ok());
  const ErrorView view = describe(result.status());
  EXPECT_EQ(view.type, type);
  EXPECT_NE(view.message.find(part), std::string::npos) << view.message;
}

TEST(Limits, nesting_of_the_source) {
  constexpr int kDeep = 20'000;
  expect_error("{{ " + repeat("(", kDeep) + "1" + repeat(")", kDeep) + " }}", "LimitError",
               "max_source_depth");
  expect_error("{{ " + repeat("[", kDeep) + repeat("]", kDeep) + " }}", "LimitError",
               "max_source_depth");
  expect_error("{{ " + repeat("{1:", kDeep) + "1" + repeat("}", kDeep) + " }}", "LimitError",
               "max_source_depth");
  expect_error("{{ " + repeat("-", kDeep) + "1 }}", "LimitError", "max_source_depth");
  expect_error("{{ " + repeat("not ", kDeep) + "1 }}", "LimitError", "max_source_depth");
  expect_error("{{ 1" + repeat(" + 1", kDeep) + " }}", "LimitError", "max_source_depth");
  expect_error("{{ 1" + repeat(" if 1 else 1", kDeep) + " }}", "LimitError", "max_source_depth");
  expect_error("{{ x" + repeat(".x", kDeep) + " }}", "LimitError", "max_source_depth");
  expect_error("{{ x" + repeat("[x", kDeep) + repeat("]", kDeep) + " }}", "LimitError",
               "max_source_depth");
  expect_error("{{ x" + repeat("|e", kDeep) + " }}", "LimitError", "max_source_depth");
  expect_error("{{ x" + repeat("()", kDeep) + " }}", "LimitError", "max_source_depth");
  expect_error(repeat("{% if 1 %}", kDeep), "LimitError", "max_source_depth");
  expect_error(repeat("{% for x in y %}", kDeep), "LimitError", "max_source_depth");
  expect_error("{% for " + repeat("(", kDeep) + "x" + repeat(",)", kDeep) + " in y %}{% endfor %}",
               "LimitError", "max_source_depth");
}

TEST(Limits, size_of_the_source) {
  expect_error(std::string((std::size_t{4} << 20U) + 1, 'x'), "LimitError", "max_source_bytes");
}

TEST(Limits, nesting_of_calls) {
  expect_error("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError",
               "max_call_depth");
  expect_error("{% macro m() %}{% call m() %}{% endcall %}{{ caller }}{% endmacro %}{{ m() }}",
               "RecursionError", "max_call_depth");
  expect_error("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "RecursionError",
               "max_call_depth");
}

TEST(Limits, nesting_of_values) {
  constexpr std::string_view kGrow =
      "{% set ns = namespace(x=[]) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}{% endfor "
      "%}";
  expect_error(kGrow, "RecursionError", "max_value_depth");
  expect_error(
      "{% set ns = namespace(x={}) %}{% for i in range(100000) %}"
      "{% set ns.x = {1: ns.x} %}{% endfor %}",
      "RecursionError", "max_value_depth");
  expect_error("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}", "RecursionError",
               "max_call_depth");
}

TEST(Limits, long_chains_of_namespaces_are_freed) {
  EXPECT_EQ(*render("{% set ns = namespace(x=1) %}{% for i in range(50000) %}"
                    "{% set ns.x = namespace(x=ns.x) %}{% endfor %}done"),
            "done");
  EXPECT_EQ(*render("{% set ns = namespace() %}{% set ns.self = ns %}done"), "done");
  EXPECT_EQ(
      *render("{% for i in [1] %}{% macro m() %}{% endmacro %}{% set x = m %}{% endfor %}done"),
      "done");
}

TEST(Limits, steps) {
  expect_error("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
               "LimitError", "max_steps");
  expect_error(
      "{% set l = range(1000) | list %}{% for a in l %}{% if l == l[:] %}{% endif %}"
      "{% endfor %}",
      "LimitError", "max_steps");
  expect_error("{% set l = range(1000) | list %}{% for a in l %}{% set x = l | sort %}{% endfor %}",
               "LimitError", "max_steps");
  // Lists that share their parts are small in memory and endless in print.
  const std::string shared =
      "{% set ns = namespace(x=[1]) %}{% for i in range(100) %}"
      "{% set ns.x = [ns.x, ns.x] %}{% endfor %}";
  expect_error(shared + "{{ ns.x }}", "LimitError", "max_");
  expect_error(shared + "{{ ns.x | tojson }}", "LimitError", "max_");
  expect_error(shared +
                   "{% set a = ns.x %}{{ [a[0], [0]] == [a[1], 0] }}"
                   "{{ ns.x | string | length }}",
               "LimitError", "max_");
}

TEST(Limits, size_of_strings) {
  expect_error("{{ 'x' * 1000000000000 }}", "LimitError", "max_output_bytes");
  expect_error("{{ 'x' * 9223372036854775807 * 9223372036854775807 }}", "LimitError",
               "max_output_bytes");
  expect_error("{{ 'abc' * 9223372036854775807 }}", "LimitError", "max_output_bytes");
  expect_error(
      "{% set ns = namespace(x='x') %}{% for i in range(64) %}{% set ns.x = ns.x ~ ns.x %}"
      "{% endfor %}",
      "LimitError", "max_");
  const std::string big = "{% set a = 'ab' * 100000 %}";
  expect_error(big + "{{ a | replace('a', a) }}", "LimitError", "max_output_bytes");
  expect_error(big + "{{ a.replace('', a) }}", "LimitError", "max_output_bytes");
  expect_error(big + "{{ a | join(a) }}", "LimitError", "max_output_bytes");
  expect_error(big + "{{ a.join(a) }}", "LimitError", "max_output_bytes");
  expect_error("{% set a = 'a\\n' * 1000000 %}{{ a | indent(1000000) }}", "LimitError",
               "max_output_bytes");
  expect_error("{{ 'x' | center(1000000000000) }}", "LimitError", "max_output_bytes");
  expect_error("{{ 'x'.ljust(1000000000000) }}", "LimitError", "max_output_bytes");
  expect_error("{{ 'x'.zfill(9223372036854775807) }}", "LimitError", "max_output_bytes");
  expect_error("{{ '%999999999d' % 1 }}", "LimitError", "max_output_bytes");
  expect_error("{{ '{:999999999}'.format(1) }}", "LimitError", "max_output_bytes");
  expect_error("{{ '\\t'.expandtabs(1000000000000) }}", "LimitError", "max_output_bytes");
  expect_error("{% for i in range(100000) %}{{ 'x' * 10000 }}{% endfor %}", "LimitError", "max_");
}

TEST(Limits, size_of_lists) {
  expect_error("{{ [1] * 1000000000000 }}", "LimitError", "max_list_items");
  expect_error("{{ [1, 2, 3] * 9223372036854775807 }}", "LimitError", "max_list_items");
  expect_error("{{ [1] | batch(1000000000000, 1) | list }}", "LimitError", "max_list_items");
  expect_error("{{ [1] | slice(1000000000000) | list }}", "LimitError", "max_list_items");
  expect_error("{{ range(100001) }}", "OverflowError", "Range too big");
  expect_error("{{ range(-9223372036854775807, 9223372036854775807) }}", "OverflowError",
               "Range too big");
}

TEST(Limits, numbers) {
  expect_error("{{ 2 ** 1000 }}", "OverflowError", "128 bits");
  expect_error("{{ 99999999999999999999999999999999 * 99999999999999999999999999999999 }}",
               "OverflowError", "128 bits");
  expect_error("{{ 99999999999999999999999999999999999999999999 }}", "TemplateSyntaxError",
               "128 bits");
}

TEST(Limits, the_caller_sets_them) {
  RenderOptions options;
  options.limits.max_output_bytes = 10;
  EXPECT_TRUE(render("1234567890", options).ok());
  EXPECT_FALSE(render("12345678901", options).ok());
}

TEST(Errors, raise_exception_keeps_its_message) {
  const Result<std::string> result = render("{{ raise_exception('a: ' ~ 1) }}");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(describe(result.status()).type, "TemplateError");
  EXPECT_EQ(describe(result.status()).message, "a: 1");
}

}  // namespace
}  // namespace godwit::jinja
