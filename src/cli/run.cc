#include "cli/run.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "cli/loaded_engine.h"
#include "text/local_time.h"

namespace godwit {
namespace {

/// Where the engine's thread leaves deltas for the terminal's.
class DeltaQueue {
 public:
  void push(Delta delta) {
    const std::lock_guard lock(mutex_);
    deltas_.push_back(std::move(delta));
    ready_.notify_one();
  }
  Delta pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !deltas_.empty(); });
    Delta delta = std::move(deltas_.front());
    deltas_.pop_front();
    return delta;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Delta> deltas_;
};

Result<std::string> make_prompt_text(const RunCommand& command, const TextAssets& text,
                                     const Clock& clock) {
  if (command.raw || text.chat_template == nullptr) {
    return command.prompt;
  }
  Json message;
  message.set("role", "user");
  message.set("content", command.prompt);
  const Json messages(JsonArray{std::move(message)});
  return text.chat_template->render({.messages = &messages,
                                     .add_generation_prompt = true,
                                     .now = local_time(clock.unix_seconds())});
}

}  // namespace

Status run_prompt(const RunCommand& command, std::FILE* out) {
  const SystemClock clock;
  DeltaQueue deltas;  // Before the engine, whose thread fills it to the end.
  const LoadedEngine loaded = TRY(load_engine(command.model, clock));
  const TextAssets& text = loaded.text;
  if (text.tokenizer == nullptr) {
    return invalid_argument("godwit run needs a tokenizer", "leave out --skip-tokenizer-init");
  }
  const std::string prompt = TRY(make_prompt_text(command, text, clock));
  const bool templated = !command.raw && text.chat_template != nullptr;
  Request request;
  request.id = "run";
  request.prompt = text.tokenizer->encode(prompt, {.add_special_tokens = !templated});
  request.sampling = text.defaults;
  const std::int64_t room =
      loaded.engine->limits().max_model_len - static_cast<std::int64_t>(request.prompt.size());
  request.sampling.max_tokens = std::max<std::int64_t>(1, std::min(command.max_tokens, room));
  request.sampling.temperature = command.temperature.value_or(request.sampling.temperature);
  request.sampling.seed = command.seed;

  TRY(loaded.engine->submit(std::move(request),
                            [&deltas](Delta delta) { deltas.push(std::move(delta)); }));
  while (true) {
    const Delta delta = deltas.pop();
    std::fwrite(delta.text.data(), 1, delta.text.size(), out);
    if (delta.finish_reason) {
      std::fputc('\n', out);
    }
    if (std::fflush(out) != 0 || std::ferror(out) != 0) {
      return internal_error("cannot write the output");
    }
    if (delta.finish_reason) {
      return delta.error;
    }
  }
}

}  // namespace godwit
