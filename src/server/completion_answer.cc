#include "server/completion_answer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/error_body.h"
#include "server/sse.h"

namespace godwit {
namespace {

/// What both forms keep of one choice.
struct Choice {
  explicit Choice(const TokenWriter& writer) : logprobs(writer) {}
  CompletionLogprobs logprobs;
  std::string text;
  std::vector<TokenId> token_ids;
  std::int64_t tokens = 0;
  std::int64_t cached_tokens = 0;
  bool opened = false;
  Delta end;
};

class CompletionAnswer : public Answer {
 public:
  CompletionAnswer(CompletionAnswerOptions options, Exchange& exchange)
      : options_(std::move(options)),
        exchange_(exchange),
        head_{.id = options_.fields.id,
              .object = "text_completion",
              .created = options_.created,
              .model = options_.fields.model},
        choices_(options_.prompts.size() * static_cast<std::size_t>(options_.fields.n),
                 Choice(options_.writer)),
        prompt_logprobs_(options_.prompts.size()),
        waiting_(options_.prompts.size()) {
    for (const CompletionPrompt& prompt : options_.prompts) {
      usage_.prompt_tokens += static_cast<std::int64_t>(prompt.ids.size());
    }
  }

  void add(std::size_t prompt, Delta delta) final {
    usage_.completion_tokens += static_cast<std::int64_t>(delta.token_ids.size());
    if (delta.index == 0 && !choice(prompt, 0).opened) {
      usage_.cached_tokens += delta.cached_tokens;
    }
    Choice& output = choice(prompt, delta.index);
    output.cached_tokens = std::max(output.cached_tokens, delta.cached_tokens);
    // The prompt's log probabilities come with output 0; with echo all outputs begin with them.
    if (echoes_logprobs() && delta.index != 0 && !prompt_logprobs_[prompt]) {
      waiting_[prompt].push_back(std::move(delta));
      return;
    }
    if (delta.index == 0 && !prompt_logprobs_[prompt]) {
      prompt_logprobs_[prompt] = std::move(delta.prompt_logprobs);
    }
    take(prompt, std::move(delta));
    for (Delta& waiting : std::exchange(waiting_[prompt], {})) {
      take(prompt, std::move(waiting));
    }
  }

 protected:
  virtual void take(std::size_t prompt, Delta delta) = 0;

  [[nodiscard]] bool echoes_logprobs() const { return options_.fields.echo && options_.logprobs; }

  Choice& choice(std::size_t prompt, std::int32_t index) {
    return choices_[prompt * static_cast<std::size_t>(options_.fields.n) +
                    static_cast<std::size_t>(index)];
  }

  /// Puts the prompt before a choice's own text when it is to be echoed. Returns that text.
  std::string open(std::size_t prompt, Choice& choice) {
    if (std::exchange(choice.opened, true) || !options_.fields.echo) {
      return {};
    }
    if (options_.logprobs) {
      choice.logprobs.add_unscored(options_.prompts[prompt].ids.front());
      choice.logprobs.add(*prompt_logprobs_[prompt]);
    }
    return options_.prompts[prompt].text;
  }

  CompletionAnswerOptions options_;
  Exchange& exchange_;
  AnswerHead head_;
  std::vector<Choice> choices_;
  std::vector<std::optional<std::vector<TokenLogprob>>> prompt_logprobs_;
  std::vector<std::vector<Delta>> waiting_;
  Usage usage_;
};

class CompletionBody final : public CompletionAnswer {
 public:
  using CompletionAnswer::CompletionAnswer;

  void start() override {}

  void finish() override {
    JsonArray choices;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      choices.push_back(choice_body(i));
    }
    Json body = answer_body(head_, std::move(choices));
    body.set("system_fingerprint", nullptr);
    body.set("usage", usage_body(usage_));
    exchange_.respond({.body = to_json(body)});
  }

  void fail(const Status& failure) override { exchange_.respond(error_response(failure)); }

 private:
  void take(std::size_t prompt, Delta delta) override {
    Choice& output = choice(prompt, delta.index);
    output.text += open(prompt, output);
    output.text += delta.text;
    output.token_ids.insert(output.token_ids.end(), delta.token_ids.begin(), delta.token_ids.end());
    output.logprobs.add(delta.logprobs);
    if (delta.finish_reason) {
      output.end = std::move(delta);
    }
  }

  Json choice_body(std::size_t index) {
    const std::size_t prompt = index / static_cast<std::size_t>(options_.fields.n);
    Choice& output = choices_[index];
    Json body;
    body.set("index", static_cast<std::int64_t>(index));
    body.set("text", std::move(output.text));
    body.set("logprobs", options_.logprobs ? output.logprobs.take() : Json());
    set_finish(body, output.end);
    if (options_.shows_prompt_logprobs && prompt_logprobs_[prompt]) {
      body.set("prompt_logprobs", prompt_logprobs(options_.writer, *prompt_logprobs_[prompt]));
    }
    if (options_.fields.return_token_ids) {
      body.set("token_ids", ids_body(output.token_ids));
      body.set("prompt_token_ids", ids_body(options_.prompts[prompt].ids));
    }
    if (options_.fields.return_prompt_text) {
      body.set("prompt_text", options_.prompts[prompt].text);
    }
    return body;
  }
};

class CompletionStream final : public CompletionAnswer {
 public:
  using CompletionAnswer::CompletionAnswer;

  void start() override { start_events(exchange_); }

  void finish() override {
    if (options_.fields.include_usage) {
      send_usage(exchange_, head_, usage_);
    }
    send_done(exchange_);
  }

  void fail(const Status& failure) override { send_failure(exchange_, failure); }

 private:
  void take(std::size_t prompt, Delta delta) override {
    Choice& output = choice(prompt, delta.index);
    const bool first = !output.opened;
    const std::string text = open(prompt, output) + delta.text;
    const bool has_tokens = first || !delta.token_ids.empty();
    output.logprobs.add(delta.logprobs);
    output.tokens += static_cast<std::int64_t>(delta.token_ids.size());
    const bool shows_tokens = options_.logprobs || options_.fields.return_token_ids;
    if (text.empty() && !delta.finish_reason && !(shows_tokens && has_tokens)) {
      return;  // The text of these tokens is held back.
    }
    Json choice_body;
    choice_body.set("index", static_cast<std::int64_t>(&output - choices_.data()));
    choice_body.set("text", text);
    choice_body.set("logprobs", options_.logprobs ? output.logprobs.take() : Json());
    set_finish(choice_body, delta);
    if (options_.fields.return_token_ids) {
      choice_body.set("token_ids", ids_body(delta.token_ids));
      if (first) {
        choice_body.set("prompt_token_ids", ids_body(options_.prompts[prompt].ids));
      }
    }
    if (options_.fields.return_prompt_text && first) {
      choice_body.set("prompt_text", options_.prompts[prompt].text);
    }
    send_chunk(prompt, output, std::move(choice_body));
  }

  void send_chunk(std::size_t prompt, const Choice& output, Json choice_body) {
    Json chunk = answer_body(head_, {std::move(choice_body)});
    if (options_.fields.continuous_usage) {
      chunk.set("usage", usage_body({.prompt_tokens = static_cast<std::int64_t>(
                                         options_.prompts[prompt].ids.size()),
                                     .completion_tokens = output.tokens,
                                     .cached_tokens = output.cached_tokens}));
    } else if (options_.fields.include_usage) {
      chunk.set("usage", nullptr);
    }
    send(exchange_, chunk);
  }
};

}  // namespace

std::unique_ptr<Answer> make_completion_answer(CompletionAnswerOptions options,
                                               Exchange& exchange) {
  if (options.fields.stream) {
    return std::make_unique<CompletionStream>(std::move(options), exchange);
  }
  return std::make_unique<CompletionBody>(std::move(options), exchange);
}

}  // namespace godwit
