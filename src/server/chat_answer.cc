#include "server/chat_answer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/error_body.h"
#include "server/sse.h"

namespace godwit {
namespace {

AnswerHead head_of(const ChatAnswerOptions& options, const char* object) {
  return {.id = options.fields.id,
          .object = object,
          .created = options.created,
          .model = options.fields.model};
}

class ChatBody final : public Answer {
 public:
  ChatBody(ChatAnswerOptions options, Exchange& exchange)
      : options_(std::move(options)),
        exchange_(exchange),
        outputs_(static_cast<std::size_t>(options_.fields.n)) {
    usage_.prompt_tokens = static_cast<std::int64_t>(options_.prompt.size());
  }

  void start() override {}

  void add(std::size_t /*prompt*/, Delta delta) override {
    Output& output = outputs_[static_cast<std::size_t>(delta.index)];
    output.text += delta.text;
    output.token_ids.insert(output.token_ids.end(), delta.token_ids.begin(), delta.token_ids.end());
    output.logprobs.insert(output.logprobs.end(), std::make_move_iterator(delta.logprobs.begin()),
                           std::make_move_iterator(delta.logprobs.end()));
    usage_.completion_tokens += static_cast<std::int64_t>(delta.token_ids.size());
    usage_.cached_tokens = std::max(usage_.cached_tokens, delta.cached_tokens);
    if (!delta.prompt_logprobs.empty()) {
      prompt_logprobs_ = std::move(delta.prompt_logprobs);
    }
    if (delta.finish_reason) {
      output.end = std::move(delta);
    }
  }

  void finish() override {
    JsonArray choices;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      choices.push_back(choice(i));
    }
    Json body = answer_body(head_of(options_, "chat.completion"), std::move(choices));
    body.set("system_fingerprint", nullptr);
    body.set("usage", usage_body(usage_));
    if (options_.fields.sampling.prompt_logprobs) {
      body.set("prompt_logprobs", prompt_logprobs(options_.writer, prompt_logprobs_));
    }
    if (options_.fields.return_token_ids) {
      body.set("prompt_token_ids", ids_body(options_.prompt));
    }
    if (options_.fields.return_prompt_text) {
      body.set("prompt_text", options_.prompt_text);
    }
    exchange_.respond({.body = to_json(body)});
  }

  void fail(const Status& failure) override { exchange_.respond(error_response(failure)); }

 private:
  struct Output {
    std::string text;
    std::vector<TokenId> token_ids;
    std::vector<TokenLogprob> logprobs;
    Delta end;
  };

  Json choice(std::size_t index) const {
    const Output& output = outputs_[index];
    Json choice;
    choice.set("index", static_cast<std::int64_t>(index));
    choice.set("message", JsonObject{{"role", options_.role},
                                     {"content", options_.echoed + output.text},
                                     {"refusal", nullptr}});
    choice.set("logprobs",
               options_.logprobs ? chat_logprobs(options_.writer, output.logprobs) : Json());
    set_finish(choice, output.end);
    if (options_.fields.return_token_ids) {
      choice.set("token_ids", ids_body(output.token_ids));
    }
    return choice;
  }

  ChatAnswerOptions options_;
  Exchange& exchange_;
  std::vector<Output> outputs_;
  std::vector<TokenLogprob> prompt_logprobs_;
  Usage usage_;
};

class ChatStream final : public Answer {
 public:
  ChatStream(ChatAnswerOptions options, Exchange& exchange)
      : options_(std::move(options)),
        head_(head_of(options_, "chat.completion.chunk")),
        exchange_(exchange),
        outputs_(static_cast<std::size_t>(options_.fields.n)) {
    usage_.prompt_tokens = static_cast<std::int64_t>(options_.prompt.size());
  }

  void start() override { start_events(exchange_); }

  void add(std::size_t /*prompt*/, Delta delta) override {
    Output& output = outputs_[static_cast<std::size_t>(delta.index)];
    if (!std::exchange(output.opened, true)) {
      open(delta.index);
    }
    const auto count = static_cast<std::int64_t>(delta.token_ids.size());
    output.tokens += count;
    usage_.completion_tokens += count;
    usage_.cached_tokens = std::max(usage_.cached_tokens, delta.cached_tokens);
    const bool shows_tokens = options_.logprobs || options_.fields.return_token_ids;
    if (delta.text.empty() && !delta.finish_reason && !(shows_tokens && count > 0)) {
      return;  // The text of these tokens is held back.
    }
    Json message{JsonObject()};
    if (!delta.text.empty() || !delta.finish_reason) {
      message.set("content", delta.text);
    }
    Json choice = choice_of(delta.index, std::move(message));
    if (options_.logprobs && count > 0) {
      choice.set("logprobs", chat_logprobs(options_.writer, delta.logprobs));
    }
    set_finish(choice, delta);
    if (options_.fields.return_token_ids) {
      choice.set("token_ids", ids_body(delta.token_ids));
    }
    send_choice(delta.index, std::move(choice));
  }

  void finish() override {
    if (options_.fields.include_usage) {
      send_usage(exchange_, head_, usage_);
    }
    send_done(exchange_);
  }

  void fail(const Status& failure) override { send_failure(exchange_, failure); }

 private:
  struct Output {
    std::int64_t tokens = 0;
    bool opened = false;
  };

  /// Sends an output's first chunk, which names the role. Not for all outputs at once: thousands of
  /// chunks would count as a client that does not read.
  void open(std::int32_t index) {
    send_choice(index, choice_of(index, JsonObject{{"role", options_.role}, {"content", ""}}),
                true);
    if (!options_.echoed.empty()) {
      send_choice(index, choice_of(index, JsonObject{{"content", options_.echoed}}));
    }
  }

  static Json choice_of(std::int32_t index, Json message) {
    return JsonObject{{"index", index},
                      {"delta", std::move(message)},
                      {"logprobs", nullptr},
                      {"finish_reason", nullptr}};
  }

  void send_choice(std::int32_t index, Json choice, bool tells_prompt = false) {
    Json chunk = answer_body(head_, {std::move(choice)});
    if (options_.fields.continuous_usage) {
      chunk.set("usage",
                usage_body({.prompt_tokens = usage_.prompt_tokens,
                            .completion_tokens = outputs_[static_cast<std::size_t>(index)].tokens,
                            .cached_tokens = usage_.cached_tokens}));
    } else if (options_.fields.include_usage) {
      chunk.set("usage", nullptr);
    }
    if (tells_prompt && options_.fields.return_token_ids) {
      chunk.set("prompt_token_ids", ids_body(options_.prompt));
    }
    if (tells_prompt && options_.fields.return_prompt_text) {
      chunk.set("prompt_text", options_.prompt_text);
    }
    send(exchange_, chunk);
  }

  ChatAnswerOptions options_;
  AnswerHead head_;
  Exchange& exchange_;
  std::vector<Output> outputs_;
  Usage usage_;
};

}  // namespace

std::unique_ptr<Answer> make_chat_answer(ChatAnswerOptions options, Exchange& exchange) {
  if (options.fields.stream) {
    return std::make_unique<ChatStream>(std::move(options), exchange);
  }
  return std::make_unique<ChatBody>(std::move(options), exchange);
}

}  // namespace godwit
