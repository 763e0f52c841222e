#include "text/chat_template.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/status.h"
#include "support/fixtures.h"
#include "text/jinja/error.h"

namespace godwit {
namespace {

/// A file of the fixtures, packed or not.
std::filesystem::path packed(const std::filesystem::path& path) {
  return std::filesystem::exists(path) ? path : std::filesystem::path(path.string() + ".gz");
}

Json read_json(const std::filesystem::path& path) {
  return parse_json(test::read_text(path), path.string()).value();
}

struct Conversation {
  std::string id;
  Json line;
  Json variables;
  ChatInput input;
};

/// Splits what apply_chat_template takes as parameters of its own from the variables.
Conversation read_conversation(const Json& line) {
  Conversation conversation{line.find("id")->as_string(), line, Json(JsonObject()), {}};
  for (const JsonMember& member : line.find("kwargs")->as_object()) {
    if (member.first == "add_generation_prompt") {
      conversation.input.add_generation_prompt = member.second.as_bool();
    } else if (member.first == "continue_final_message") {
      conversation.input.continue_final_message = member.second.as_bool();
    } else {
      conversation.variables.set(member.first, member.second);
    }
  }
  conversation.input.now = jinja::LocalTime{2025, 3, 14, 15, 9, 26};
  return conversation;
}

Result<std::string> render(const ChatTemplate& chat_template, const Conversation& conversation) {
  ChatInput input = conversation.input;
  input.messages = conversation.line.find("messages");
  input.tools = conversation.line.find("tools");
  input.documents = conversation.line.find("documents");
  input.variables = &conversation.variables;
  return chat_template.render(input);
}

ChatTemplate load(const std::filesystem::path& folder, const std::string& name) {
  SpecialTokens tokens;
  const Json meta = read_json(folder / (name + ".meta.json"));
  for (const JsonMember& token : meta.find("special_tokens")->as_object()) {
    if (token.second.is_string()) {
      tokens.emplace_back(token.first, token.second.as_string());
    }
  }
  return ChatTemplate::create(test::read_text(folder / (name + ".jinja")), std::move(tokens))
      .value();
}

std::vector<Conversation> load_conversations(const std::filesystem::path& folder) {
  std::vector<Conversation> conversations;
  for (const Json& line : test::read_json_lines(packed(folder / "conversations.jsonl"))) {
    conversations.push_back(read_conversation(line));
  }
  return conversations;
}

void check_golden(const Result<std::string>& result, const Json& golden) {
  if (const Json* text = golden.find("text"); text != nullptr) {
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(*result, text->as_string());
    return;
  }
  const Json& expected = *golden.find("error");
  ASSERT_FALSE(result.ok()) << *result;
  const jinja::ErrorView view = jinja::describe(result.status());
  EXPECT_EQ(view.type, expected.find("type")->as_string()) << view.message;
  if (view.type == "TemplateError" || view.type == "ValueError") {
    EXPECT_EQ(view.message, expected.find("message")->as_string());
  }
}

/// Renders every conversation by every template of a folder; returns how many renders that were.
std::size_t check_folder(const std::filesystem::path& folder) {
  const std::vector<Conversation> conversations = load_conversations(folder);
  std::size_t renders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jinja") {
      continue;
    }
    const std::string name = entry.path().stem().string();
    const ChatTemplate chat_template = load(folder, name);
    for (const Json& golden : test::read_json_lines(packed(folder / (name + ".golden.jsonl")))) {
      const std::string& id = golden.find("conv")->as_string();
      const auto conversation =
          std::find_if(conversations.begin(), conversations.end(),
                       [&](const Conversation& candidate) { return candidate.id == id; });
      SCOPED_TRACE(name + ", " + id);
      EXPECT_NE(conversation, conversations.end());
      check_golden(render(chat_template, *conversation), golden);
      ++renders;
    }
  }
  return renders;
}

TEST(ChatTemplate, matches_hugging_face) {
  EXPECT_EQ(check_folder(test::test_data() / "chat_templates"), 5U * 65U);
}

TEST(ChatTemplate, matches_hugging_face_in_the_shared_fixtures) {
  if (!test::shared_fixtures()) {
    GTEST_SKIP();
  }
  EXPECT_EQ(check_folder(*test::shared_fixtures() / "chat_templates"), 98U * 65U);
}

Result<std::string> render_text(std::string_view source, const char* input_text) {
  const Json line = parse_json(input_text, "input").value();
  const ChatTemplate chat_template = TRY(ChatTemplate::create(source, {{"bos_token", "<s>"}}));
  return render(chat_template, read_conversation(line));
}

TEST(ChatTemplate, special_tokens_are_variables_that_others_override) {
  EXPECT_EQ(*render_text("{{ bos_token }}", R"({"id": "", "messages": [{}], "kwargs": {}})"),
            "<s>");
  EXPECT_EQ(*render_text("{{ bos_token }}",
                         R"({"id": "", "messages": [{}], "kwargs": {"bos_token": "X"}})"),
            "X");
}

TEST(ChatTemplate, absent_tools_and_documents_are_none) {
  EXPECT_EQ(*render_text("{{ tools }} {{ documents is none }} {{ other is defined }}",
                         R"({"id": "", "messages": [{}], "kwargs": {}})"),
            "None True False");
}

TEST(ChatTemplate, a_message_to_continue_must_have_text_that_the_template_writes) {
  constexpr const char* kNumber = R"({"id": "", "messages": [{"content": 1}],
                                      "kwargs": {"continue_final_message": true}})";
  const Result<std::string> without_text = render_text("{{ messages }}", kNumber);
  ASSERT_FALSE(without_text.ok());
  EXPECT_EQ(jinja::describe(without_text.status()).type, "ValueError");

  constexpr const char* kText = R"({"id": "", "messages": [{"content": "Hello"}],
                                    "kwargs": {"continue_final_message": true}})";
  EXPECT_FALSE(render_text("nothing", kText).ok());
  EXPECT_EQ(*render_text("<{{ messages[0].content }}>", kText), "<Hello");
}

TEST(ChatTemplate, a_continued_message_keeps_its_space_unless_the_template_trims_it) {
  constexpr const char* kInput = R"({"id": "", "messages": [{"content": "Hello "}],
                                     "kwargs": {"continue_final_message": true}})";
  EXPECT_EQ(*render_text("<{{ messages[0].content }}>", kInput), "<Hello ");
  EXPECT_EQ(*render_text("<{{ messages[0].content | trim }}>", kInput), "<Hello");
}

TEST(ChatTemplate, the_last_text_of_parts_is_continued) {
  constexpr const char* kInput = R"({"id": "", "messages": [{"content": [
      {"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image"}]}],
      "kwargs": {"continue_final_message": true}})";
  EXPECT_EQ(*render_text("{% for p in messages[0].content %}({{ p.text }}){% endfor %}", kInput),
            "(a)(b");
}

TEST(ChatTemplate, requests_with_tools_take_their_own_template) {
  const ChatTemplate chat_template = ChatTemplate::create("plain", {}, "tools").value();
  const Json messages = parse_json(R"([{"role": "user"}])", "messages").value();
  const Json tools = parse_json("[]", "tools").value();
  ChatInput input;
  input.messages = &messages;
  EXPECT_EQ(*chat_template.render(input), "plain");
  input.tools = &tools;
  EXPECT_EQ(*chat_template.render(input), "tools");
}

TEST(ChooseChatTemplate, takes_a_string_or_the_entry_that_fits) {
  const auto choose = [](const char* config, bool with_tools) {
    return choose_chat_template(parse_json(config, "config").value(), with_tools);
  };
  EXPECT_EQ(*choose("{}", false), std::nullopt);
  EXPECT_EQ(*choose(R"({"chat_template": "x"})", true), "x");
  constexpr const char* kList = R"({"chat_template": [
      {"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]})";
  EXPECT_EQ(*choose(kList, false), "d");
  EXPECT_EQ(*choose(kList, true), "t");
  EXPECT_FALSE(choose(R"({"chat_template": 1})", false).ok());
  EXPECT_FALSE(choose(R"({"chat_template": [{"name": "rag", "template": "r"}]})", false).ok());
}

TEST(ReadSpecialTokens, takes_strings_and_added_tokens) {
  const Json config =
      parse_json(R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": null,
                     "add_bos_token": true})",
                 "config")
          .value();
  const SpecialTokens expected = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  EXPECT_EQ(read_special_tokens(config), expected);
}

}  // namespace
}  // namespace godwit
