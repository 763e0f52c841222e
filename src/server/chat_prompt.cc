#include "server/chat_prompt.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "text/chat_template.h"
#include "text/jinja/error.h"
#include "text/local_time.h"
#include "text/tokenizer.h"

namespace godwit {
namespace {

/// Joins the parts of a message's content, as templates expect text. `name` is for errors.
Result<Json> read_content(const std::string& name, const Json& content) {
  if (content.is_string()) {
    return content;
  }
  if (!content.is_array()) {
    return wrong_kind(name, "a string or an array of parts", content);
  }
  std::string joined;
  for (std::size_t i = 0; i < content.as_array().size(); ++i) {
    const std::string part_name = name + "[" + std::to_string(i) + "]";
    const Json& part = content.as_array()[i];
    const Json* type = part.find("type");
    if (type == nullptr || !type->is_string()) {
      return invalid_argument(part_name + ".type must be a string");
    }
    if (type->as_string() != "text") {
      return unimplemented(part_name + " is of type \"" + type->as_string().substr(0, 64) +
                               "\", which this server does not support",
                           "send parts of type \"text\"");
    }
    const Json* text = part.find("text");
    if (text == nullptr || !text->is_string()) {
      return invalid_argument(part_name + ".text must be a string");
    }
    joined += (i == 0 ? "" : "\n") + text->as_string();
  }
  return Json(std::move(joined));
}

/// Clients send a call's arguments as JSON text; templates expect the value.
Status parse_call_arguments(const std::string& name, Json& message) {
  const Json* found = message.find("tool_calls");
  if (found == nullptr || found->is_null()) {
    return {};
  }
  if (!found->is_array()) {
    return wrong_kind(name + ".tool_calls", "an array", *found);
  }
  Json calls = *found;
  for (Json& call : calls.as_array()) {
    const Json* function = call.find("function");
    const Json* arguments = function == nullptr ? nullptr : function->find("arguments");
    if (arguments == nullptr) {
      return invalid_argument(name + ".tool_calls has a call without function.arguments");
    }
    if (arguments->is_string()) {
      const std::string text = arguments->as_string().empty() ? "{}" : arguments->as_string();
      Json parsed = TRY(parse_json(text, name + ".tool_calls function.arguments"));
      Json changed = *function;
      changed.set("arguments", std::move(parsed));
      call.set("function", std::move(changed));
    }
  }
  message.set("tool_calls", std::move(calls));
  return {};
}

Result<Json> read_messages(FieldReader& fields) {
  const Json* value = fields.find("messages");
  if (value == nullptr) {
    return invalid_argument("messages is missing", "give an array of messages");
  }
  if (!value->is_array()) {
    return wrong_kind("messages", "an array", *value);
  }
  if (value->as_array().empty()) {
    return invalid_argument("messages is empty", "give at least one message");
  }
  JsonArray messages;
  for (const Json& element : value->as_array()) {
    const std::string name = "messages[" + std::to_string(messages.size()) + "]";
    if (!element.is_object()) {
      return wrong_kind(name, "an object", element);
    }
    const Json* role = element.find("role");
    if (role == nullptr || !role->is_string()) {
      return invalid_argument(name + ".role must be a string");
    }
    Json message = element;
    const Json* content = element.find("content");
    const bool is_empty = content == nullptr || content->is_null();
    message.set("content", is_empty ? Json("") : TRY(read_content(name + ".content", *content)));
    TRY(parse_call_arguments(name, message));
    // Templates look for either name.
    for (const auto& [from, to] : {std::pair("reasoning_content", "reasoning"),
                                   std::pair("reasoning", "reasoning_content")}) {
      const Json* reasoning = element.find(from);
      if (reasoning != nullptr && element.find(to) == nullptr) {
        message.set(to, *reasoning);
      }
    }
    messages.push_back(std::move(message));
  }
  return Json(std::move(messages));
}

Result<const Json*> read_objects(FieldReader& fields, std::string_view name) {
  const Json* value = fields.find(name);
  if (value == nullptr) {
    return value;
  }
  if (!value->is_array()) {
    return wrong_kind(name, "an array of objects", *value);
  }
  for (const Json& element : value->as_array()) {
    if (!element.is_object()) {
      return wrong_kind(name, "an array of objects", element);
    }
  }
  return value->as_array().empty() ? nullptr : value;
}

/// Reads `reasoning_effort`, which templates see as a variable.
Result<std::string> read_reasoning_effort(FieldReader& fields) {
  constexpr std::string_view kEfforts[] = {"none", "minimal", "low", "medium",
                                           "high", "xhigh",   "max"};
  std::string effort;
  TRY(fields.read("reasoning_effort", effort));
  const bool known =
      std::find(std::begin(kEfforts), std::end(kEfforts), effort) != std::end(kEfforts);
  if (fields.find("reasoning_effort") != nullptr && !known) {
    return invalid_argument("reasoning_effort is \"" + effort.substr(0, 32) + "\"",
                            "give none, minimal, low, medium, high, xhigh or max");
  }
  return effort;
}

/// Reads what steers the template; `variables` takes those that the request adds.
Status read_steering(FieldReader& fields, ChatInput& input, Json& variables) {
  input.add_generation_prompt = true;
  TRY(fields.read("add_generation_prompt", input.add_generation_prompt));
  TRY(fields.read("continue_final_message", input.continue_final_message));
  if (input.add_generation_prompt && input.continue_final_message) {
    return invalid_argument("continue_final_message and add_generation_prompt are both true",
                            "set add_generation_prompt to false");
  }
  if (const Json* given = fields.find("chat_template_kwargs")) {
    if (!given->is_object()) {
      return wrong_kind("chat_template_kwargs", "an object", *given);
    }
    variables = *given;
  }
  const std::string effort = TRY(read_reasoning_effort(fields));
  if (!effort.empty()) {
    variables.set("reasoning_effort", effort);
  }
  input.variables = variables.is_object() ? &variables : nullptr;
  return {};
}

/// The model's template, or the one that the request brings, which `own` then holds.
Result<const ChatTemplate*> choose_template(FieldReader& fields, const ServedModel& model,
                                            std::optional<ChatTemplate>& own) {
  std::string source;
  TRY(fields.read("chat_template", source));
  if (fields.find("chat_template") != nullptr) {
    Result<ChatTemplate> parsed = model.chat_template == nullptr
                                      ? ChatTemplate::create(source, {})
                                      : model.chat_template->with_source(source);
    if (!parsed.ok()) {
      return invalid_argument("chat_template cannot be used: " + parsed.status().message());
    }
    return &own.emplace(std::move(parsed).value());
  }
  if (model.chat_template == nullptr) {
    return invalid_argument("messages need a chat template, which this model does not have",
                            "send chat_template, or use /v1/completions");
  }
  return model.chat_template.get();
}

}  // namespace

Result<ChatPrompt> read_chat_prompt(FieldReader& fields, const ServedModel& model,
                                    std::int64_t unix_seconds) {
  if (model.tokenizer == nullptr) {
    return invalid_argument("messages are text, and this server runs without a tokenizer",
                            "send token ids to /v1/completions");
  }
  std::optional<ChatTemplate> own_template;
  const ChatTemplate* chat_template = TRY(choose_template(fields, model, own_template));
  const Json messages = TRY(read_messages(fields));
  ChatInput input{.messages = &messages, .now = local_time(unix_seconds)};
  input.tools = TRY(read_objects(fields, "tools"));
  input.documents = TRY(read_objects(fields, "documents"));
  Json variables;
  TRY(read_steering(fields, input, variables));
  bool add_special = false;
  TRY(fields.read("add_special_tokens", add_special));
  const Result<std::string> text = chat_template->render(input);
  if (!text.ok()) {
    return invalid_argument("The chat template refuses these messages: " + text.status().message());
  }
  ChatPrompt prompt;
  prompt.tokens = model.tokenizer->encode(*text, {.add_special_tokens = add_special});
  prompt.text = *text;
  const Json& last = messages.as_array().back();
  const std::string& last_role = last.find("role")->as_string();
  prompt.role = input.add_generation_prompt ? "assistant" : last_role;
  if (last_role == prompt.role) {
    prompt.last_content = last.find("content")->as_string();
  }
  return prompt;
}

}  // namespace godwit
