#include "cli/run.h"

#include <optional>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/chat.h"
#include "cli/conversation.h"
#include "cli/loaded_engine.h"
#include "cli/model_source.h"

namespace godwit {
namespace {

Status answer_prompt(const LoadedEngine& loaded, const RunCommand& command, const Clock& clock,
                     std::FILE* out) {
  const TextAssets& text = loaded.text;
  std::string prompt = command.prompt;
  const bool templated = !command.raw && text.chat_template != nullptr;
  if (templated) {
    Conversation conversation(text.chat_template, command.system);
    conversation.add("user", command.prompt);
    prompt = TRY(conversation.render(clock.unix_seconds()));
  }
  std::vector<TokenId> tokens = text.tokenizer->encode(prompt, {.add_special_tokens = !templated});
  return write_answer(loaded, command, std::move(tokens), nullptr, out).status();
}

}  // namespace

Status run_prompt(const RunCommand& command, std::FILE* out) {
  const bool chats = command.prompt.empty();
  const ModelOptions model = TRY(locate_model(command.model));
  std::optional<Interrupts> interrupts;  // Before the engine's threads.
  if (chats && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
    interrupts.emplace();
  }
  const SystemClock clock;
  const LoadedEngine loaded = TRY(load_engine(model, clock));
  if (loaded.text.tokenizer == nullptr) {
    return invalid_argument("godwit run needs a tokenizer", "leave out --skip-tokenizer-init");
  }
  if (chats) {
    return run_chat(loaded, command, clock, interrupts ? &*interrupts : nullptr, out);
  }
  return answer_prompt(loaded, command, clock, out);
}

}  // namespace godwit
