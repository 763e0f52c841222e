#include "cli/chat_line.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

TEST(ChatLine, TellsCommandsFromWhatIsSaid) {
  struct Case {
    const char* line;
    ChatAction action;
    const char* text;
  };
  for (const Case& expected : {
           Case{"", ChatAction::kNothing, ""},
           Case{"  \t\r", ChatAction::kNothing, ""},
           Case{" Hello there ", ChatAction::kSay, "Hello there"},
           Case{"//etc/hosts", ChatAction::kSay, "/etc/hosts"},
           Case{"/help", ChatAction::kHelp, ""},
           Case{" /clear ", ChatAction::kClear, ""},
           Case{"/exit", ChatAction::kExit, ""},
           Case{"/system  Be brief. ", ChatAction::kSystem, "Be brief."},
           Case{"/system", ChatAction::kSystem, ""},
           Case{"/clear now", ChatAction::kUnknown, "/clear now"},
           Case{"/systemic", ChatAction::kUnknown, "/systemic"},
           Case{"/", ChatAction::kUnknown, "/"},
       }) {
    const ChatLine line = parse_chat_line(expected.line);
    EXPECT_EQ(line.action, expected.action) << expected.line;
    EXPECT_EQ(line.text, expected.text) << expected.line;
  }
}

TEST(ChatLine, HelpNamesEveryCommand) {
  for (const char* name : {"/help", "/clear", "/system", "/exit", "Ctrl-C", "Ctrl-D"}) {
    EXPECT_NE(chat_help().find(name), std::string_view::npos) << name;
  }
}

}  // namespace
}  // namespace godwit
