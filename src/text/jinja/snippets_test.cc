// Small templates whose results jinja2 3.1.6 gave.

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/status.h"
#include "support/fixtures.h"
#include "text/jinja/error.h"
#include "text/jinja/template.h"

namespace godwit::jinja {
namespace {

Result<std::string> render(const Json& snippet, const JsonObject& context) {
  const Template parsed = TRY(Template::parse(snippet.find("template")->as_string()));
  RenderOptions options;
  options.now = LocalTime{2025, 3, 14, 15, 9, 26};
  return parsed.render(context, options);
}

/// Types that godwit tells apart less finely than Python.
std::string comparable(const std::string& type) {
  return type == "SyntaxError" ? "TemplateSyntaxError" : type;
}

void check(const Json& snippet, const JsonObject& context) {
  const Result<std::string> result = render(snippet, context);
  if (const Json* text = snippet.find("text"); text != nullptr) {
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(*result, text->as_string());
    return;
  }
  const Json& expected = *snippet.find("error");
  ASSERT_FALSE(result.ok()) << *result;
  const ErrorView view = describe(result.status());
  const std::string type = expected.find("type")->as_string();
  EXPECT_EQ(view.type, comparable(type)) << view.message;
  if (type == "TemplateError" || type == "TemplateSyntaxError") {
    EXPECT_EQ(view.message, expected.find("message")->as_string());
  }
}

void check_all(const std::filesystem::path& path) {
  const std::vector<Json> lines = test::read_json_lines(path);
  ASSERT_EQ(lines.size(), 348U);
  const JsonObject& context = lines.front().find("context")->as_object();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    SCOPED_TRACE(lines[i].find("id")->as_string() + ": " + lines[i].find("template")->as_string());
    check(lines[i], context);
  }
}

TEST(JinjaSnippets, match_jinja2) {
  check_all(test::test_data() / "chat_templates" / "jinja_snippets.jsonl.gz");
}

TEST(JinjaSnippets, match_jinja2_in_the_shared_fixtures) {
  if (!test::shared_fixtures()) {
    GTEST_SKIP();
  }
  check_all(*test::shared_fixtures() / "chat_templates" / "jinja_snippets.jsonl");
}

}  // namespace
}  // namespace godwit::jinja
