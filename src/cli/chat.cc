#include "cli/chat.h"

#include <optional>

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/chat_line.h"
#include "cli/conversation.h"
#include "cli/line_editor.h"
#include "cli/line_reader.h"

namespace godwit {
namespace {

/// The conversation's side of the model: turns a line into an answer.
class Chat {
 public:
  Chat(const LoadedEngine& loaded, const RunCommand& command, const Clock& clock,
       Interrupts* interrupts, std::FILE* out)
      : loaded_(loaded), command_(command), clock_(clock), interrupts_(interrupts), out_(out) {
    if (!command.raw && loaded.text.chat_template != nullptr) {
      conversation_.emplace(loaded.text.chat_template, command.system);
    }
  }

  [[nodiscard]] bool remembers() const { return conversation_.has_value(); }
  /// Whether the last answer was interrupted.
  [[nodiscard]] bool interrupted() const { return interrupted_; }

  Status say(const std::string& text) {
    interrupted_ = false;
    if (!conversation_) {
      return answer(loaded_.text.tokenizer->encode(text, {.add_special_tokens = true})).status();
    }
    conversation_->add("user", text);
    const Result<std::string> given = answer_conversation();
    if (!given.ok() || (interrupted_ && given->empty())) {
      conversation_->drop_last();  // The next line begins where this one did.
      return given.status();
    }
    conversation_->add("assistant", *given);
    return {};
  }

  void clear() {
    if (conversation_) {
      conversation_->clear();
    }
  }
  void set_system(const std::string& text) {
    if (conversation_) {
      conversation_->set_system(text);
      conversation_->clear();
    }
  }

 private:
  Result<std::string> answer_conversation() {
    const std::string prompt = TRY(conversation_->render(clock_.unix_seconds()));
    return answer(loaded_.text.tokenizer->encode(prompt, {.add_special_tokens = false}));
  }

  Result<std::string> answer(std::vector<TokenId> prompt) {
    const std::int64_t length = loaded_.engine->limits().max_model_len;
    if (static_cast<std::int64_t>(prompt.size()) >= length) {
      return invalid_argument(
          fmt::format("the conversation has {} tokens, and the model's context {}", prompt.size(),
                      length),
          "/clear begins a new one");
    }
    TerminalAnswer given =
        TRY(write_answer(loaded_, command_, std::move(prompt), interrupts_, out_));
    interrupted_ = given.reason == FinishReason::kAbort;
    return std::move(given.text);
  }

  const LoadedEngine& loaded_;
  const RunCommand& command_;
  const Clock& clock_;
  Interrupts* interrupts_;
  std::FILE* out_;
  std::optional<Conversation> conversation_;
  bool interrupted_ = false;
};

/// Does what a line asks. Returns whether the conversation goes on.
Result<bool> obey(Chat& chat, std::string_view text, std::FILE* out) {
  const ChatLine line = parse_chat_line(text);
  switch (line.action) {
    case ChatAction::kNothing:
      return true;
    case ChatAction::kExit:
      return false;
    case ChatAction::kSay:
      TRY(chat.say(line.text));
      return true;
    case ChatAction::kHelp:
      fmt::print(out, "{}", chat_help());
      return true;
    case ChatAction::kClear:
      chat.clear();
      return true;
    case ChatAction::kSystem:
      chat.set_system(line.text);
      return true;
    case ChatAction::kUnknown:
      break;
  }
  return invalid_argument(line.text + " is no command", "see /help");
}

Status chat_with_person(Chat& chat, Interrupts& interrupts, std::FILE* out) {
  LineEditor editor = TRY(LineEditor::create(interrupts, history_path()));
  fmt::print(out, "/help lists the commands; Ctrl-D quits.\n");
  if (!chat.remembers()) {
    fmt::print(out, "Without a chat template: each line is continued, none is remembered.\n");
  }
  bool armed = false;  // Whether the next Ctrl-C quits.
  while (true) {
    std::fflush(out);
    const EditedLine line = editor.read();
    if (line.event == LineEvent::kEnd || (line.event == LineEvent::kInterrupt && armed)) {
      return {};
    }
    if (line.event == LineEvent::kInterrupt) {
      armed = line.text.empty();
      if (armed) {
        fmt::print(out, "Ctrl-C again quits.\n");
      }
      continue;
    }
    const Result<bool> goes_on = obey(chat, line.text, out);
    if (!goes_on.ok()) {
      if (std::ferror(out) != 0) {
        return goes_on.status();
      }
      fmt::print(out, "{}\n", goes_on.status().message());
    } else if (!*goes_on) {
      return {};
    }
    armed = chat.interrupted();
  }
}

Status chat_with_lines(Chat& chat, std::FILE* out) {
  LineReader lines(stdin);
  while (const std::optional<std::string_view> line = lines.next()) {
    if (!TRY(obey(chat, *line, out))) {
      break;
    }
  }
  return {};
}

}  // namespace

Status run_chat(const LoadedEngine& loaded, const RunCommand& command, const Clock& clock,
                Interrupts* interrupts, std::FILE* out) {
  Chat chat(loaded, command, clock, interrupts, out);
  return interrupts != nullptr ? chat_with_person(chat, *interrupts, out)
                               : chat_with_lines(chat, out);
}

}  // namespace godwit
