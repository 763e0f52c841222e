#pragma once
// The answer to a plain completion: one body, or a stream of chunks. Output i of prompt p is choice
// p * n + i.

#include <memory>
#include <string>
#include <vector>

#include "server/generation.h"
#include "server/logprobs.h"
#include "server/openai_request.h"
#include "server/openai_response.h"

namespace godwit {

struct CompletionPrompt {
  std::vector<TokenId> ids;
  std::string text;  ///< What echo and return_prompt_text show.
};

struct CompletionAnswerOptions {
  GenerationFields fields;
  std::int64_t created = 0;
  bool logprobs = false;
  bool shows_prompt_logprobs = false;  ///< The request asked for them by name, not through echo.
  std::vector<CompletionPrompt> prompts;
  TokenWriter writer;
};

/// `exchange` must outlive the answer.
std::unique_ptr<Answer> make_completion_answer(CompletionAnswerOptions options, Exchange& exchange);

}  // namespace godwit
