#include "server/openai_chat.h"

#include <limits>
#include <utility>

#include "server/chat_answer.h"
#include "server/chat_prompt.h"
#include "server/error_body.h"
#include "server/request_log.h"
#include "server/stream_pace.h"
#include "text/tokenizer.h"

namespace godwit {
namespace {

struct ChatRequest {
  Request request;
  ChatAnswerOptions answer;
};

/// Reads `logprobs`, a flag here, and `top_logprobs`.
Status read_logprobs(FieldReader& reader, std::int32_t limit, GenerationFields& fields,
                     ChatAnswerOptions& answer) {
  TRY(reader.read("logprobs", answer.logprobs));
  std::int32_t top = 0;
  TRY(reader.read("top_logprobs", top));
  if (top < 0 || top > limit) {
    return invalid_argument("top_logprobs is " + std::to_string(top),
                            "give an integer from 0 to " + std::to_string(limit));
  }
  if (top > 0 && !answer.logprobs) {
    return invalid_argument("top_logprobs is given without logprobs", "set logprobs to true");
  }
  answer.logprobs = answer.logprobs || !fields.sampling.logprob_token_ids.empty();
  if (answer.logprobs) {
    fields.sampling.logprobs = top;
  }
  if (fields.sampling.prompt_logprobs && fields.stream) {
    return invalid_argument("prompt_logprobs cannot be streamed", "set stream to false");
  }
  return {};
}

/// The model may be told of tools, but nothing here reads its calls.
Status refuse_tool_calls(FieldReader& reader) {
  const Json* tools = reader.find("tools");
  const Json* choice = reader.find("tool_choice");
  const bool has_tools = tools != nullptr && !(*tools == Json(JsonArray()));
  const bool is_none = choice != nullptr && *choice == Json("none");
  if ((has_tools && choice == nullptr) || (choice != nullptr && !is_none)) {
    return unimplemented("tool_choice other than \"none\" is not supported by this server",
                         "set tool_choice to \"none\"; the template still sees the tools");
  }
  return {};
}

Result<ChatRequest> read_chat_request(ServerContext& server, const HttpRequest& http) {
  const Json body = TRY(read_body(http));
  FieldReader reader = TRY(FieldReader::create(body, kChatFields));
  GenerationFields fields = TRY(read_generation_fields(reader, http, "chatcmpl-", server));
  ChatRequest out;
  TRY(read_logprobs(reader, server.engine->limits().max_logprobs, fields, out.answer));
  TRY(reader.read("max_tokens", fields.max_tokens));
  TRY(reader.read("max_completion_tokens", fields.max_tokens));
  TRY(refuse_tool_calls(reader));
  out.answer.created = server.clock->unix_seconds();
  ChatPrompt prompt = TRY(read_chat_prompt(reader, server.model, out.answer.created));
  server.unknown_fields.report(reader.unknown());
  if (TRY(truncate_prompt(fields, server.model, prompt.tokens))) {
    prompt.text = server.model.tokenizer->decode(prompt.tokens, false);
  }
  // An answer may be as long as the context allows.
  constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  out.request = TRY(make_request(fields, prompt.tokens, kNoLimit, server.model));
  if (fields.echo) {
    out.answer.echoed = std::move(prompt.last_content);
  }
  out.answer.role = std::move(prompt.role);
  out.answer.prompt = std::move(prompt.tokens);
  out.answer.prompt_text = std::move(prompt.text);
  out.answer.writer = {.tokenizer = server.model.tokenizer.get(), .as_ids = fields.tokens_as_ids};
  out.answer.fields = std::move(fields);
  return out;
}

}  // namespace

void handle_chat(ServerContext& server, std::shared_ptr<Exchange> exchange) {
  Result<ChatRequest> chat = read_chat_request(server, exchange->request());
  if (!chat.ok()) {
    exchange->respond(error_response(chat.status()));
    return;
  }
  const std::int32_t interval = chat->answer.fields.stream_interval;
  std::unique_ptr<Answer> answer =
      pace_answer(make_chat_answer(std::move(chat->answer), *exchange), interval);
  std::vector<Request> requests;
  requests.push_back(std::move(chat->request));
  if (server.log_requests) {
    log_requests(requests);
  }
  run_generation(*server.engine, std::move(exchange), std::move(requests), std::move(answer));
}

}  // namespace godwit
