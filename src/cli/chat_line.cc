#include "cli/chat_line.h"

#include <array>
#include <cstddef>

namespace godwit {
namespace {

struct Command {
  std::string_view name;
  ChatAction action;
};

constexpr auto kCommands = std::to_array<Command>({{"/help", ChatAction::kHelp},
                                                   {"/clear", ChatAction::kClear},
                                                   {"/system", ChatAction::kSystem},
                                                   {"/exit", ChatAction::kExit}});

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

}  // namespace

ChatLine parse_chat_line(std::string_view line) {
  line = trim(line);
  if (line.empty()) {
    return {};
  }
  if (line.starts_with("//")) {
    return {ChatAction::kSay, std::string(line.substr(1))};
  }
  if (!line.starts_with('/')) {
    return {ChatAction::kSay, std::string(line)};
  }
  const std::string_view name = line.substr(0, line.find_first_of(" \t"));
  const std::string_view rest = trim(line.substr(name.size()));
  for (const Command& command : kCommands) {
    if (command.name == name && (rest.empty() || command.action == ChatAction::kSystem)) {
      return {command.action, std::string(rest)};
    }
  }
  return {ChatAction::kUnknown, std::string(line)};
}

std::string_view chat_help() {
  return "/help          this text\n"
         "/clear         forget the conversation\n"
         "/system TEXT   set the system message and forget the conversation; without TEXT: none\n"
         "/exit          quit; so does Ctrl-D\n"
         "Ctrl-C         stop the answer; twice: quit\n"
         "//TEXT         say a line that begins with /\n";
}

}  // namespace godwit
