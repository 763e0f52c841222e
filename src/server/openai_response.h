#pragma once
// The parts that all answers in OpenAI's form share.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "request/request.h"

namespace godwit {

/// What every body and chunk of one answer begins with.
struct AnswerHead {
  std::string id;
  std::string object;
  std::int64_t created = 0;
  std::string model;
};

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t cached_tokens = 0;
};

/// {"id", "object", "created", "model", "choices"}.
Json answer_body(const AnswerHead& head, JsonArray choices);

/// {"prompt_tokens", "total_tokens", "completion_tokens", "prompt_tokens_details"}.
Json usage_body(const Usage& usage);

/// Sets `finish_reason` and `stop_reason` of a choice; both null before the end.
void set_finish(Json& choice, const Delta& delta);

Json ids_body(const std::vector<TokenId>& ids);

}  // namespace godwit
