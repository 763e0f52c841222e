#include "text/chat_template.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/template.h"
#include "text/jinja/unicode.h"

namespace godwit {
namespace {

/// Marks the end of a message that is to be continued; what the template writes after it is cut.
constexpr std::string_view kTag = "CONTINUE_FINAL_MESSAGE_TAG ";
constexpr std::string_view kBareTag = kTag.substr(0, kTag.size() - 1);

/// Appends the tag to the text of the last message and returns the text as it was.
Result<std::string> tag_final_message(Json& messages) {
  Json& message = messages.as_array().back();
  const Json* content = message.find("content");
  if (content != nullptr && content->is_string()) {
    std::string text = content->as_string();
    message.set("content", Json(text + std::string(kTag)));
    return text;
  }
  if (content != nullptr && content->is_array()) {
    Json parts = *content;
    JsonArray& list = parts.as_array();
    for (auto part = list.rbegin(); part != list.rend(); ++part) {
      const Json* text = part->find("text");
      if (text != nullptr && text->is_string()) {
        std::string before = text->as_string();
        part->set("text", Json(before + std::string(kTag)));
        message.set("content", std::move(parts));
        return before;
      }
    }
  }
  return jinja::value_error(
      "continue_final_message is set but we could not find any text to continue in the final "
      "message!");
}

/// Cuts a render at the tag.
Result<std::string> cut_at_tag(std::string rendered, std::string_view final_text) {
  const std::size_t at = rendered.rfind(kBareTag);
  const std::string_view stripped = jinja::strip_left(jinja::strip_right(final_text));
  if (at == std::string::npos || rendered.find(stripped) == std::string::npos) {
    return jinja::value_error(
        "continue_final_message is set but the final message does not appear in the chat after "
        "applying the chat template! This can happen if the chat template deletes portions of the "
        "final message. Please verify the chat template and final message in your chat to ensure "
        "they are compatible.");
  }
  const bool kept_space = rendered.compare(at, kTag.size(), kTag) == 0;
  rendered.resize(at);
  if (!kept_space) {
    // The template trims the message, so the white space before the tag is not the message's end.
    rendered.resize(jinja::strip_right(rendered).size());
  }
  return rendered;
}

std::optional<std::string> token_text(const Json& token) {
  if (token.is_string()) {
    return token.as_string();
  }
  const Json* content = token.find("content");
  return content != nullptr && content->is_string() ? std::optional(content->as_string())
                                                    : std::nullopt;
}

}  // namespace

ChatTemplate::ChatTemplate(jinja::Template parsed, std::optional<jinja::Template> tool_template,
                           SpecialTokens tokens)
    : template_(std::move(parsed)), tool_template_(std::move(tool_template)) {
  for (auto& [name, text] : tokens) {
    tokens_.emplace_back(std::move(name), Json(std::move(text)));
  }
}

Result<ChatTemplate> ChatTemplate::create(std::string_view source, SpecialTokens tokens,
                                          const std::optional<std::string>& tool_source) {
  jinja::Template parsed = TRY(jinja::Template::parse(source));
  std::optional<jinja::Template> tool_template;
  if (tool_source) {
    tool_template = TRY(jinja::Template::parse(*tool_source));
  }
  return ChatTemplate(std::move(parsed), std::move(tool_template), std::move(tokens));
}

Result<ChatTemplate> ChatTemplate::with_source(std::string_view source) const {
  ChatTemplate other(TRY(jinja::Template::parse(source)), std::nullopt, {});
  other.tokens_ = tokens_;
  return other;
}

bool ChatTemplate::mentions(std::string_view name) const {
  return template_.mentions(name) || (tool_template_ && tool_template_->mentions(name));
}

Result<std::string> ChatTemplate::render(const ChatInput& input) const {
  if (input.messages == nullptr || !input.messages->is_array()) {
    return jinja::type_error("messages must be an array");
  }
  if (input.messages->as_array().empty()) {
    return jinja::value_error(
        "Cannot apply chat template to an empty conversation. Provide at least one message.");
  }
  if (input.continue_final_message && input.add_generation_prompt) {
    return jinja::value_error(
        "continue_final_message and add_generation_prompt are not compatible. Use "
        "continue_final_message when you want the model to continue the final message, and "
        "add_generation_prompt when you want to add a header that will prompt it to start a new "
        "assistant message instead.");
  }
  Json tagged;
  std::string final_text;
  if (input.continue_final_message) {
    tagged = *input.messages;
    final_text = TRY(tag_final_message(tagged));
  }

  const Json none;
  const Json add_generation_prompt(input.add_generation_prompt);
  std::vector<jinja::Variable> variables;
  for (const auto& [name, text] : tokens_) {
    variables.push_back({name, &text});
  }
  if (input.variables != nullptr && input.variables->is_object()) {
    for (const JsonMember& member : input.variables->as_object()) {
      variables.push_back({member.first, &member.second});
    }
  }
  variables.push_back({"messages", input.continue_final_message ? &tagged : input.messages});
  variables.push_back({"tools", input.tools == nullptr ? &none : input.tools});
  variables.push_back({"documents", input.documents == nullptr ? &none : input.documents});
  variables.push_back({"add_generation_prompt", &add_generation_prompt});

  jinja::RenderOptions options;
  options.now = input.now;
  const bool with_tools = input.tools != nullptr && !input.tools->is_null();
  const jinja::Template& chosen = with_tools && tool_template_ ? *tool_template_ : template_;
  std::string rendered = TRY(chosen.render(variables, options));
  if (!input.continue_final_message) {
    return rendered;
  }
  return cut_at_tag(std::move(rendered), final_text);
}

Result<std::optional<std::string>> choose_chat_template(const Json& tokenizer_config,
                                                        bool with_tools) {
  const Json* entry = tokenizer_config.find("chat_template");
  if (entry == nullptr || entry->is_null()) {
    return std::optional<std::string>();
  }
  if (entry->is_string()) {
    return std::optional(entry->as_string());
  }
  if (!entry->is_array()) {
    return invalid_argument("chat_template is a " + std::string(entry->kind()) +
                            ", neither a string nor a list of templates");
  }
  std::optional<std::string> chosen;
  for (const Json& candidate : entry->as_array()) {
    const Json* name = candidate.find("name");
    const Json* source = candidate.find("template");
    if (name == nullptr || !name->is_string() || source == nullptr || !source->is_string()) {
      return invalid_argument("an entry of the list chat_template lacks a name or a template");
    }
    if (name->as_string() == "tool_use" && with_tools) {
      return std::optional(source->as_string());
    }
    if (name->as_string() == "default") {
      chosen = source->as_string();
    }
  }
  if (!chosen) {
    return invalid_argument("the list chat_template has no template named \"default\"");
  }
  return chosen;
}

SpecialTokens read_special_tokens(const Json& config) {
  constexpr std::array<std::string_view, 7> kNames = {
      "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
  SpecialTokens tokens;
  for (const std::string_view name : kNames) {
    const Json* token = config.find(name);
    if (token == nullptr) {
      continue;
    }
    if (std::optional<std::string> text = token_text(*token)) {
      tokens.emplace_back(std::string(name), std::move(*text));
    }
  }
  return tokens;
}

}  // namespace godwit
