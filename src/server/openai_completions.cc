#include "server/openai_completions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/completion_answer.h"
#include "server/error_body.h"
#include "server/request_log.h"
#include "server/stream_pace.h"
#include "text/tokenizer.h"

namespace godwit {
namespace {

// OpenAI's and vLLM's default for plain completions.
constexpr std::int64_t kDefaultMaxTokens = 16;
constexpr std::size_t kMaxPrompts = 2048;

struct CompletionRequest {
  std::vector<Request> requests;
  CompletionAnswerOptions answer;
};

/// Reads one prompt: a string, or token ids.
Result<CompletionPrompt> read_prompt(const std::string& name, const Json& value, bool add_special,
                                     std::int64_t vocab_size, const GenerationFields& fields,
                                     const ServedModel& model) {
  const Tokenizer* tokenizer = model.tokenizer.get();
  if (value.is_string()) {
    if (tokenizer == nullptr) {
      return invalid_argument(name + " is text, and this server runs without a tokenizer",
                              "send token ids");
    }
    const std::string& text = value.as_string();
    CompletionPrompt prompt{.ids = tokenizer->encode(text, {.add_special_tokens = add_special}),
                            .text = text};
    if (TRY(truncate_prompt(fields, model, prompt.ids))) {
      prompt.text = tokenizer->decode(prompt.ids, fields.sampling.skip_special_tokens);
    }
    return prompt;
  }
  CompletionPrompt prompt{.ids = TRY(read_token_ids(name, value, vocab_size)), .text = {}};
  TRY(truncate_prompt(fields, model, prompt.ids));
  if ((fields.echo || fields.return_prompt_text) && tokenizer != nullptr) {
    prompt.text = tokenizer->decode(prompt.ids, fields.sampling.skip_special_tokens);
  }
  return prompt;
}

/// Reads `prompt`: one prompt, or a list of them.
Result<std::vector<CompletionPrompt>> read_prompts(FieldReader& reader, std::int64_t vocab_size,
                                                   const GenerationFields& fields,
                                                   const ServedModel& model) {
  bool add_special = true;
  TRY(reader.read("add_special_tokens", add_special));
  const Json* value = reader.find("prompt");
  if (value == nullptr) {
    return invalid_argument("prompt is missing", "give a string or token ids");
  }
  const bool is_list =
      value->is_array() && !value->as_array().empty() && !value->as_array().front().is_number();
  std::vector<CompletionPrompt> prompts;
  if (!is_list) {
    if (!value->is_string() && !value->is_array()) {
      return wrong_kind("prompt", "a string, an array of strings, or token ids", *value);
    }
    prompts.push_back(TRY(read_prompt("prompt", *value, add_special, vocab_size, fields, model)));
    return prompts;
  }
  if (value->as_array().size() > kMaxPrompts) {
    return invalid_argument("prompt holds more than " + std::to_string(kMaxPrompts) + " prompts");
  }
  for (const Json& element : value->as_array()) {
    const std::string name = "prompt[" + std::to_string(prompts.size()) + "]";
    if (!element.is_string() && !element.is_array()) {
      return wrong_kind(name, "a string or an array of token ids", element);
    }
    prompts.push_back(TRY(read_prompt(name, element, add_special, vocab_size, fields, model)));
  }
  return prompts;
}

/// Reads `logprobs`, an integer here, and what it means together with `echo` and `stream`.
Status read_logprobs(FieldReader& reader, std::int32_t limit, GenerationFields& fields,
                     CompletionAnswerOptions& answer) {
  TRY(reader.read("logprobs", fields.sampling.logprobs));
  std::optional<std::int32_t>& count = fields.sampling.logprobs;
  if (!count && !fields.sampling.logprob_token_ids.empty()) {
    count = 0;
  }
  if (count && (*count < 0 || *count > limit)) {
    return invalid_argument("logprobs is " + std::to_string(*count),
                            "give an integer from 0 to " + std::to_string(limit));
  }
  answer.logprobs = count.has_value();
  answer.shows_prompt_logprobs = fields.sampling.prompt_logprobs.has_value();
  if (answer.shows_prompt_logprobs && fields.stream) {
    return invalid_argument("prompt_logprobs cannot be streamed", "set stream to false");
  }
  if (fields.echo && count) {
    fields.sampling.prompt_logprobs = std::max(*count, fields.sampling.prompt_logprobs.value_or(0));
  }
  return {};
}

Result<CompletionRequest> read_completion_request(ServerContext& server, const HttpRequest& http) {
  const Json body = TRY(read_body(http));
  FieldReader reader = TRY(FieldReader::create(body, kCompletionFields));
  GenerationFields fields = TRY(read_generation_fields(reader, http, "cmpl-", server));
  const EngineLimits limits = server.engine->limits();
  CompletionRequest out;
  TRY(read_logprobs(reader, limits.max_logprobs, fields, out.answer));
  TRY(reader.read("max_tokens", fields.max_tokens));
  out.answer.prompts = TRY(read_prompts(reader, limits.vocab_size, fields, server.model));
  server.unknown_fields.report(reader.unknown());
  if (static_cast<std::int64_t>(out.answer.prompts.size()) * fields.n > kMaxOutputs) {
    return invalid_argument("prompt holds so many prompts that n = " + std::to_string(fields.n) +
                                " of each pass " + std::to_string(kMaxOutputs) + " outputs",
                            "send several requests");
  }
  for (const CompletionPrompt& prompt : out.answer.prompts) {
    Request request = TRY(make_request(fields, prompt.ids, kDefaultMaxTokens, server.model));
    request.id += "-" + std::to_string(out.requests.size());
    out.requests.push_back(std::move(request));
  }
  out.answer.created = server.clock->unix_seconds();
  out.answer.writer = {.tokenizer = server.model.tokenizer.get(), .as_ids = fields.tokens_as_ids};
  out.answer.fields = std::move(fields);
  return out;
}

}  // namespace

void handle_completions(ServerContext& server, std::shared_ptr<Exchange> exchange) {
  Result<CompletionRequest> request = read_completion_request(server, exchange->request());
  if (!request.ok()) {
    exchange->respond(error_response(request.status()));
    return;
  }
  const std::int32_t interval = request->answer.fields.stream_interval;
  auto answer =
      pace_answer(make_completion_answer(std::move(request->answer), *exchange), interval);
  if (server.log_requests) {
    log_requests(request->requests);
  }
  run_generation(*server.engine, std::move(exchange), std::move(request->requests),
                 std::move(answer));
}

}  // namespace godwit
