#pragma once
// What a line typed into a chat means.

#include <string>
#include <string_view>

namespace godwit {

enum class ChatAction { kNothing, kSay, kHelp, kClear, kSystem, kExit, kUnknown };

struct ChatLine {
  ChatAction action = ChatAction::kNothing;
  std::string text;  ///< What is said, the new system message, or the unknown command.
};

/// "/help", "/clear", "/system TEXT", "/exit" are commands; "//x" says "/x"; a blank line is
/// nothing; all else is said.
ChatLine parse_chat_line(std::string_view line);

/// The commands, for /help.
std::string_view chat_help();

}  // namespace godwit
