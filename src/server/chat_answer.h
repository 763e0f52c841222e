#pragma once
// The answer to a chat request: one body, or a stream of chunks.

#include <memory>
#include <string>
#include <vector>

#include "server/generation.h"
#include "server/logprobs.h"
#include "server/openai_request.h"
#include "server/openai_response.h"

namespace godwit {

struct ChatAnswerOptions {
  GenerationFields fields;
  std::int64_t created = 0;
  std::string role = "assistant";
  std::string echoed;  ///< Text that goes before every output's own.
  bool logprobs = false;
  std::vector<TokenId> prompt;
  std::string prompt_text;
  TokenWriter writer;
};

/// `exchange` must outlive the answer.
std::unique_ptr<Answer> make_chat_answer(ChatAnswerOptions options, Exchange& exchange);

}  // namespace godwit
