#include "cli/render.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/status.h"
#include "cli/line_reader.h"
#include "text/chat_template.h"
#include "text/chat_template_files.h"
#include "text/jinja/error.h"
#include "text/local_time.h"

namespace godwit {
namespace {

Json error_line(const Status& status) {
  const jinja::ErrorView view = jinja::describe(status);
  Json error;
  error.set("type", Json(view.type));
  error.set("message", Json(view.message));
  Json line;
  line.set("error", std::move(error));
  return line;
}

/// Takes a flag out of the variables, as apply_chat_template has it as a parameter of its own.
bool take_flag(Json& variables, std::string_view name) {
  JsonObject& members = variables.as_object();
  const auto it = std::find_if(members.begin(), members.end(),
                               [&](const JsonMember& member) { return member.first == name; });
  if (it == members.end()) {
    return false;
  }
  const bool value = it->second.is_bool() && it->second.as_bool();
  members.erase(it);
  return value;
}

Result<Json> render_line(const ChatTemplate& chat_template, const jinja::LocalTime& now,
                         std::string_view text, std::int64_t number) {
  const std::string place = "line " + std::to_string(number) + " of the input";
  const Json line = TRY(parse_json(text, place));
  if (!line.is_object()) {
    return invalid_argument(place + " is of type " + std::string(line.kind()) + ", not an object",
                            "write one {\"messages\": [...]} a line");
  }
  const Json* kwargs = line.find("kwargs");
  Json variables = kwargs != nullptr && kwargs->is_object() ? *kwargs : Json(JsonObject());
  ChatInput input;
  input.messages = line.find("messages");
  input.tools = line.find("tools");
  input.documents = line.find("documents");
  input.add_generation_prompt = take_flag(variables, "add_generation_prompt");
  input.continue_final_message = take_flag(variables, "continue_final_message");
  input.variables = &variables;
  input.now = now;
  const Result<std::string> rendered = chat_template.render(input);
  if (!rendered.ok()) {
    return error_line(rendered.status());
  }
  Json answer;
  answer.set("text", Json(*rendered));
  return answer;
}

}  // namespace

Result<std::pair<std::string, std::string>> parse_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid_argument("\"" + text + "\" is not NAME=VALUE",
                            "write, for example, bos_token=<s>");
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

void override_tokens(SpecialTokens& tokens, const SpecialTokens& variables) {
  for (const auto& [name, value] : variables) {
    std::erase_if(tokens, [&](const auto& token) { return token.first == name; });
    tokens.emplace_back(name, value);
  }
}

Result<jinja::LocalTime> parse_time(const std::string& text) {
  if (text.empty()) {
    return local_time(SystemClock().unix_seconds());
  }
  constexpr std::string_view kForm = "dddd-dd-dd dd:dd:dd";
  std::array<int, 6> fields = {};
  std::size_t field = 0;
  bool fits = text.size() == kForm.size();
  for (std::size_t i = 0; fits && i < kForm.size(); ++i) {
    if (kForm[i] != 'd') {
      fits = text[i] == kForm[i];
      ++field;
      continue;
    }
    fits = text[i] >= '0' && text[i] <= '9';
    fields[field] = fields[field] * 10 + (text[i] - '0');
  }
  const auto [year, month, day, hour, minute, second] = fields;
  if (!fits || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
      second > 60) {
    return invalid_argument("\"" + text + "\" is not a time", "write it as 2025-03-14 15:09:26");
  }
  return jinja::LocalTime{year, month, day, hour, minute, second};
}

Status render_lines(const ChatTemplate& chat_template, const jinja::LocalTime& now, std::FILE* in,
                    std::FILE* out) {
  std::int64_t number = 0;
  LineReader reader(in);
  while (const std::optional<std::string_view> text = reader.next()) {
    ++number;
    if (text->find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    const Result<Json> rendered = render_line(chat_template, now, *text, number);
    const std::string answer =
        to_json(rendered.ok() ? *rendered : error_line(rendered.status())) + "\n";
    if (std::fwrite(answer.data(), 1, answer.size(), out) != answer.size()) {
      return internal_error("the output cannot be written");
    }
  }
  if (std::ferror(in) != 0) {
    return internal_error("the input cannot be read");
  }
  if (std::fflush(out) != 0) {
    return internal_error("the output cannot be written");
  }
  return {};
}

Status run_render(const RenderCommand& command, std::FILE* in, std::FILE* out) {
  const jinja::LocalTime now = TRY(parse_time(command.now));
  ChatTemplateFiles files = TRY(read_chat_template_files(command.path));
  if (!files.source) {
    return not_found(command.path + " has no chat template", "name a .jinja file");
  }
  override_tokens(files.tokens, command.variables);
  const ChatTemplate chat_template =
      TRY(ChatTemplate::create(*files.source, std::move(files.tokens), files.tool_source));
  return render_lines(chat_template, now, in, out);
}

}  // namespace godwit
