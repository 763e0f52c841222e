#pragma once
// From the messages of a request to the tokens of a prompt.

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "request/request.h"
#include "server/field_reader.h"
#include "server/server_context.h"

namespace godwit {

struct ChatPrompt {
  std::vector<TokenId> tokens;
  std::string text;          ///< What the template rendered.
  std::string role;          ///< Of the answer: "assistant", or the last message's to go on with.
  std::string last_content;  ///< The text of the last message when it has that role; for echo.
};

/// Reads messages, tools, documents and what steers the template, renders and encodes. The template
/// may print the time, which is given in seconds since 1970.
/// Errors: kInvalidArgument for wrong fields, and for what the template itself refuses;
/// kUnimplemented for content that is not text and for tool calls.
Result<ChatPrompt> read_chat_prompt(FieldReader& fields, const ServedModel& model,
                                    std::int64_t unix_seconds);

}  // namespace godwit
