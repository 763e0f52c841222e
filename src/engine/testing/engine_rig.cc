#include "engine/testing/engine_rig.h"

#include <cstdio>

#include "base/check.h"

namespace godwit::test {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
  }
  CHECK(result.ok());
  return std::move(result).value();
}

/// Gathers one request's deltas; destroyed by the engine after the last.
struct Collector {
  std::vector<Answer> answers;
  std::size_t open = 0;
  std::promise<std::vector<Answer>> done;

  void take(Delta delta) {
    Answer& answer = answers[static_cast<std::size_t>(delta.index)];
    answer.text += delta.text;
    answer.tokens.insert(answer.tokens.end(), delta.token_ids.begin(), delta.token_ids.end());
    answer.logprobs.insert(answer.logprobs.end(), delta.logprobs.begin(), delta.logprobs.end());
    if (!delta.prompt_logprobs.empty()) {
      answer.prompt_logprobs = std::move(delta.prompt_logprobs);
    }
    answer.cached_tokens = delta.cached_tokens;
    ++answer.deltas;
    if (delta.finish_reason) {
      answer.finish_reason = *delta.finish_reason;
      answer.stop_string = delta.stop_string;
      answer.stop_token = delta.stop_token;
      answer.error = delta.error;
      if (--open == 0) {
        done.set_value(std::move(answers));
      }
    }
  }
};

}  // namespace

EngineRig::EngineRig(const std::filesystem::path& model, const RigOptions& options) {
  engine_ = must(Engine::create(options.engine,
                                must(ModelRunner::create(must(open_model(model)), options.runner)),
                                options.tokenizer, clock_));
}

std::future<std::vector<Answer>> EngineRig::start(Request request) {
  auto collector = std::make_shared<Collector>();
  collector->answers.resize(static_cast<std::size_t>(request.n));
  collector->open = collector->answers.size();
  std::future<std::vector<Answer>> answers = collector->done.get_future();
  must(engine_->submit(std::move(request),
                       [collector](Delta delta) { collector->take(std::move(delta)); }));
  return answers;
}

std::vector<Answer> EngineRig::answer(std::vector<Request> requests) {
  std::vector<std::future<std::vector<Answer>>> pending;
  for (Request& request : requests) {
    pending.push_back(start(std::move(request)));
  }
  std::vector<Answer> answers;
  for (auto& future : pending) {
    answers.push_back(std::move(future.get().front()));
  }
  return answers;
}

}  // namespace godwit::test
