#include "server/stream_pace.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace godwit {
namespace {

template <class T>
void prepend(std::vector<T>& to, std::vector<T> before) {
  before.insert(before.end(), std::make_move_iterator(to.begin()),
                std::make_move_iterator(to.end()));
  to = std::move(before);
}

/// Joins what came before to a later delta of the same output.
void prepend(Delta& to, Delta before) {
  to.text.insert(0, before.text);
  prepend(to.token_ids, std::move(before.token_ids));
  prepend(to.logprobs, std::move(before.logprobs));
  to.cached_tokens = std::max(to.cached_tokens, before.cached_tokens);
  if (to.prompt_logprobs.empty()) {
    to.prompt_logprobs = std::move(before.prompt_logprobs);
  }
}

class PacedAnswer final : public Answer {
 public:
  PacedAnswer(std::unique_ptr<Answer> answer, std::int32_t interval)
      : answer_(std::move(answer)), interval_(static_cast<std::size_t>(interval)) {}

  void start() override { answer_->start(); }

  void add(std::size_t prompt, Delta delta) override {
    const auto [place, is_first] = held_.try_emplace({prompt, delta.index});
    std::optional<Delta>& held = place->second;
    if (held) {
      prepend(delta, *std::exchange(held, std::nullopt));
    }
    if (is_first || delta.finish_reason || delta.token_ids.size() >= interval_) {
      answer_->add(prompt, std::move(delta));
    } else {
      held = std::move(delta);
    }
  }

  void finish() override { answer_->finish(); }
  void fail(const Status& failure) override { answer_->fail(failure); }

 private:
  std::unique_ptr<Answer> answer_;
  std::size_t interval_;
  std::map<std::pair<std::size_t, std::int32_t>, std::optional<Delta>> held_;  // by output
};

}  // namespace

std::unique_ptr<Answer> pace_answer(std::unique_ptr<Answer> answer, std::int32_t interval) {
  if (interval == 1) {
    return answer;
  }
  return std::make_unique<PacedAnswer>(std::move(answer), interval);
}

}  // namespace godwit
