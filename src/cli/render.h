#pragma once
// `godwit render`: chat templates without a model. Reads conversations as lines of JSON and writes
// what the template makes of each.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/chat_template.h"

namespace godwit {

struct RenderCommand {
  std::string path;  ///< A .jinja file, a tokenizer_config.json, or a folder with them.
  /// Variables given as NAME=VALUE; they override the special tokens of the files.
  std::vector<std::pair<std::string, std::string>> variables;
  std::string now;  ///< "2025-03-14 15:09:26" for strftime_now; empty = the system's local time.
};

/// Splits "NAME=VALUE". Errors: kInvalidArgument.
Result<std::pair<std::string, std::string>> parse_variable(const std::string& text);

/// Puts variables in the place of the tokens of the same names.
void override_tokens(SpecialTokens& tokens, const SpecialTokens& variables);

/// Reads "2025-03-14 15:09:26"; the system's local time when `text` is empty.
/// Errors: kInvalidArgument.
Result<jinja::LocalTime> parse_time(const std::string& text);

/// Renders each line {"messages", "tools", "documents", "kwargs"} of `in` to a line {"text"} or
/// {"error": {"type", "message"}} of `out`. Errors: reading and writing.
Status render_lines(const ChatTemplate& chat_template, const jinja::LocalTime& now, std::FILE* in,
                    std::FILE* out);

/// Runs the command: reads the files it names, then render_lines().
Status run_render(const RenderCommand& command, std::FILE* in, std::FILE* out);

}  // namespace godwit
