#include "server/openai_response.h"

#include <utility>

namespace godwit {

Json answer_body(const AnswerHead& head, JsonArray choices) {
  return JsonObject{{"id", head.id},
                    {"object", head.object},
                    {"created", head.created},
                    {"model", head.model},
                    {"choices", std::move(choices)}};
}

Json usage_body(const Usage& usage) {
  return JsonObject{{"prompt_tokens", usage.prompt_tokens},
                    {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
                    {"completion_tokens", usage.completion_tokens},
                    {"prompt_tokens_details", JsonObject{{"cached_tokens", usage.cached_tokens}}}};
}

void set_finish(Json& choice, const Delta& delta) {
  if (!delta.finish_reason) {
    choice.set("finish_reason", nullptr);
    return;
  }
  choice.set("finish_reason", to_string(*delta.finish_reason));
  Json stop_reason;
  if (delta.stop_string) {
    stop_reason = Json(*delta.stop_string);
  } else if (delta.stop_token) {
    stop_reason = Json(*delta.stop_token);
  } else if (delta.finish_reason == FinishReason::kRepetition) {
    stop_reason = Json("repetition_detected");
  }
  choice.set("stop_reason", std::move(stop_reason));
}

Json ids_body(const std::vector<TokenId>& ids) {
  JsonArray array;
  array.reserve(ids.size());
  for (const TokenId id : ids) {
    array.emplace_back(id);
  }
  return array;
}

}  // namespace godwit
