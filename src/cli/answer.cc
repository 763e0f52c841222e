#include "cli/answer.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <sys/eventfd.h>
#include <sys/poll.h>
#include <unistd.h>

namespace godwit {
namespace {

/// Where the engine's thread leaves deltas for the terminal's, which waits for them and for
/// interrupts at once.
class DeltaQueue {
 public:
  DeltaQueue() : ready_(::eventfd(0, EFD_CLOEXEC)) { CHECK(ready_ >= 0); }
  ~DeltaQueue() { ::close(ready_); }
  DeltaQueue(const DeltaQueue&) = delete;
  DeltaQueue& operator=(const DeltaQueue&) = delete;

  void push(Delta delta) {
    const std::lock_guard lock(mutex_);
    deltas_.push_back(std::move(delta));
    const std::uint64_t one = 1;
    CHECK(::write(ready_, &one, sizeof one) == sizeof one);
  }

  /// What has come, after waiting for it; nothing after an interrupt.
  std::deque<Delta> pop_all(Interrupts* interrupts) {
    std::array<pollfd, 2> waits{{{.fd = ready_, .events = POLLIN, .revents = 0},
                                 // poll() passes over a negative descriptor.
                                 {.fd = interrupts == nullptr ? -1 : interrupts->descriptor(),
                                  .events = POLLIN,
                                  .revents = 0}}};
    while (::poll(waits.data(), waits.size(), -1) < 0) {
    }
    if (waits[1].revents != 0 && interrupts->take()) {
      return {};
    }
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    if (!deltas_.empty()) {
      CHECK(::read(ready_, &count, sizeof count) == sizeof count);
    }
    return std::exchange(deltas_, {});
  }

 private:
  int ready_;
  std::mutex mutex_;
  std::deque<Delta> deltas_;
};

SamplingParams make_sampling(const LoadedEngine& loaded, const RunCommand& command,
                             std::int64_t prompt_tokens) {
  SamplingParams sampling = loaded.text.defaults;
  const SamplingFlags& flags = command.sampling;
  const std::int64_t room = loaded.engine->limits().max_model_len - prompt_tokens;
  sampling.max_tokens = std::max<std::int64_t>(1, std::min(command.max_tokens, room));
  sampling.temperature = flags.temperature.value_or(sampling.temperature);
  sampling.top_p = flags.top_p.value_or(sampling.top_p);
  sampling.top_k = flags.top_k.value_or(sampling.top_k);
  sampling.min_p = flags.min_p.value_or(sampling.min_p);
  sampling.repetition_penalty = flags.repetition_penalty.value_or(sampling.repetition_penalty);
  sampling.presence_penalty = flags.presence_penalty.value_or(sampling.presence_penalty);
  sampling.frequency_penalty = flags.frequency_penalty.value_or(sampling.frequency_penalty);
  sampling.seed = flags.seed;
  sampling.stop = flags.stop;
  return sampling;
}

}  // namespace

Result<TerminalAnswer> write_answer(const LoadedEngine& loaded, const RunCommand& command,
                                    std::vector<TokenId> prompt, Interrupts* interrupts,
                                    std::FILE* out) {
  Request request;
  request.id = "run";
  request.sampling = make_sampling(loaded, command, static_cast<std::int64_t>(prompt.size()));
  request.prompt = std::move(prompt);
  TRY(validate(request.sampling));
  // Shared, because after a failure to write the engine may still add to it.
  const auto queue = std::make_shared<DeltaQueue>();
  const RequestKey key = TRY(loaded.engine->submit(
      std::move(request), [queue](Delta delta) { queue->push(std::move(delta)); }));
  TerminalAnswer answer;
  while (true) {
    const std::deque<Delta> deltas = queue->pop_all(interrupts);
    if (deltas.empty()) {
      loaded.engine->abort(key);
    }
    for (const Delta& delta : deltas) {
      answer.text += delta.text;
      std::fwrite(delta.text.data(), 1, delta.text.size(), out);
      if (delta.finish_reason) {
        std::fputc('\n', out);
      }
      if (std::fflush(out) != 0 || std::ferror(out) != 0) {
        loaded.engine->abort(key);
        return internal_error("cannot write the output");
      }
      if (delta.finish_reason) {
        TRY(delta.error);
        answer.reason = *delta.finish_reason;
        return answer;
      }
    }
  }
}

}  // namespace godwit
