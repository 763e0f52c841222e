#include "server/tokenization.h"

#include <optional>
#include <utility>
#include <vector>

#include "server/chat_prompt.h"
#include "server/field_reader.h"
#include "server/openai_request.h"
#include "server/openai_response.h"
#include "text/tokenizer.h"

namespace godwit {
namespace {

Status check_tokenizer(const ServedModel& model) {
  if (model.tokenizer == nullptr) {
    return invalid_argument("This server runs without a tokenizer",
                            "start it without --skip-tokenizer-init");
  }
  return {};
}

Result<std::vector<TokenId>> read_tokens(FieldReader& fields, bool is_chat,
                                         const ServedModel& model, const Clock& clock) {
  if (is_chat) {
    return TRY(read_chat_prompt(fields, model, clock.unix_seconds())).tokens;
  }
  if (fields.find("prompt") == nullptr) {
    return invalid_argument("prompt is missing", "give prompt or messages");
  }
  std::string text;
  TRY(fields.read("prompt", text));
  bool add_special = true;
  TRY(fields.read("add_special_tokens", add_special));
  return model.tokenizer->encode(text, {.add_special_tokens = add_special});
}

}  // namespace

Result<HttpResponse> tokenize(ServerContext& server, const HttpRequest& http) {
  TRY(check_tokenizer(server.model));
  const Json request = TRY(read_body(http));
  const Json* messages = request.find("messages");
  const bool is_chat = messages != nullptr && !messages->is_null();
  FieldReader fields =
      TRY(FieldReader::create(request, is_chat ? kTokenizeChatFields : kTokenizeTextFields));
  TRY(read_model(fields, server.model));
  bool with_strings = false;
  TRY(fields.read("return_token_strs", with_strings));
  const std::vector<TokenId> tokens =
      TRY(read_tokens(fields, is_chat, server.model, *server.clock));
  server.unknown_fields.report(fields.unknown());
  Json body = JsonObject{{"count", static_cast<std::int64_t>(tokens.size())},
                         {"max_model_len", server.model.max_model_len},
                         {"tokens", ids_body(tokens)},
                         {"token_strs", nullptr}};
  if (with_strings) {
    JsonArray strings;
    for (const TokenId token : tokens) {
      strings.emplace_back(server.model.tokenizer->id_to_token(token).value_or(""));
    }
    body.set("token_strs", std::move(strings));
  }
  return HttpResponse{.body = to_json(body)};
}

Result<HttpResponse> detokenize(ServerContext& server, const HttpRequest& http) {
  TRY(check_tokenizer(server.model));
  const Json request = TRY(read_body(http));
  FieldReader fields = TRY(FieldReader::create(request, kDetokenizeFields));
  TRY(read_model(fields, server.model));
  if (fields.find("tokens") == nullptr) {
    return invalid_argument("tokens is missing", "give an array of token ids");
  }
  std::vector<TokenId> tokens;
  TRY(fields.read_ids("tokens", server.engine->limits().vocab_size, tokens));
  server.unknown_fields.report(fields.unknown());
  return HttpResponse{
      .body = to_json(JsonObject{{"prompt", server.model.tokenizer->decode(tokens, false)}})};
}

Result<HttpResponse> tokenizer_info(const ServerContext& server) {
  TRY(check_tokenizer(server.model));
  const Tokenizer& tokenizer = *server.model.tokenizer;
  const auto text_of = [&](std::optional<TokenId> id) -> Json {
    const auto text = id ? tokenizer.id_to_token(*id) : std::nullopt;
    return text ? Json(*text) : Json();
  };
  return HttpResponse{.body =
                          to_json(JsonObject{{"bos_token", text_of(tokenizer.bos_id())},
                                             {"eos_token", text_of(tokenizer.eos_id())},
                                             {"vocab_size", std::int64_t{tokenizer.vocab_size()}},
                                             {"model_max_length", server.model.max_model_len}})};
}

}  // namespace godwit
