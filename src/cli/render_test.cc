#include "cli/render.h"

#include <cstdio>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/status.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};
using FilePtr = std::unique_ptr<std::FILE, CloseFile>;

/// Runs the command over a text and returns what it writes.
Result<std::string> run(const RenderCommand& command, const std::string& input) {
  const FilePtr in(std::tmpfile());
  const FilePtr out(std::tmpfile());
  std::fwrite(input.data(), 1, input.size(), in.get());
  std::rewind(in.get());
  TRY(run_render(command, in.get(), out.get()));
  std::rewind(out.get());
  std::string text;
  for (int c = std::fgetc(out.get()); c != EOF; c = std::fgetc(out.get())) {
    text += static_cast<char>(c);
  }
  return text;
}

std::string chatml() {
  return (test::test_data() / "chat_templates" / "chatml.jinja").string();
}

TEST(Render, writes_one_line_for_each) {
  const std::string input = R"({"messages": [{"role": "user", "content": "Hi"}]})"
                            "\n\n"
                            R"({"messages": []})"
                            "\n";
  const Result<std::string> output = run({chatml(), {}, ""}, input);
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(
      *output,
      "{\"text\":\"<|im_start|>user\\nHi<|im_end|>\\n\"}\n"
      "{\"error\":{\"type\":\"ValueError\",\"message\":\"Cannot apply chat template to an empty "
      "conversation. Provide at least one message.\"}}\n");
}

TEST(Render, says_which_line_is_wrong_and_goes_on) {
  const Result<std::string> output = run(
      {chatml(), {}, ""}, "[1]\nx\n{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}");
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_TRUE(output->starts_with("{\"error\":")) << *output;
  EXPECT_NE(output->find("line 1"), std::string::npos) << *output;
  EXPECT_NE(output->find("line 2"), std::string::npos) << *output;
  EXPECT_TRUE(output->ends_with("{\"text\":\"<|im_start|>user\\nHi<|im_end|>\\n\"}\n")) << *output;
}

TEST(Render, says_that_there_is_no_template) {
  EXPECT_EQ(run({"/nowhere", {}, ""}, "").status().code(), StatusCode::kNotFound);
}

TEST(ParseTime, takes_one_form) {
  const Result<jinja::LocalTime> time = parse_time("2025-03-14 15:09:26");
  ASSERT_TRUE(time.ok());
  EXPECT_EQ(time->year, 2025);
  EXPECT_EQ(time->month, 3);
  EXPECT_EQ(time->second, 26);
  EXPECT_FALSE(parse_time("2025-13-14 15:09:26").ok());
  EXPECT_FALSE(parse_time("yesterday").ok());
}

TEST(ParseVariable, splits_at_the_first_equals_sign) {
  EXPECT_EQ(parse_variable("a=b=c")->second, "b=c");
  EXPECT_FALSE(parse_variable("=b").ok());
  EXPECT_FALSE(parse_variable("a").ok());
}

}  // namespace
}  // namespace godwit
