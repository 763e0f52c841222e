#pragma once
// The fields that chat and plain completions share.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "request/request.h"
#include "server/field_reader.h"
#include "server/http.h"
#include "server/server_context.h"

namespace godwit {

/// Outputs of one HTTP request, over all its prompts.
inline constexpr std::int64_t kMaxOutputs = 16384;

/// How much of a prompt is kept.
struct PromptTruncation {
  std::optional<std::int64_t> tokens;  ///< -1: what the context has room for. Absent: all.
  bool keep_end = true;                ///< Cuts at the beginning.
};

struct GenerationFields {
  std::string id;     ///< Of the response: the prefix and a random or given part.
  std::string model;  ///< As the request names it.
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;
  std::int32_t n = 1;
  std::optional<std::int64_t> max_tokens;
  SamplingParams sampling;  ///< All but max_tokens, logprobs, which the endpoints define.
  bool echo = false;
  bool return_token_ids = false;
  bool return_prompt_text = false;
  std::int32_t stream_interval = 1;  ///< Tokens of an output that one event holds.
  PromptTruncation truncation;
  bool tokens_as_ids = false;  ///< Tokens in logprobs are written "token_id:17".
  std::int32_t priority = 0;
  std::string cache_salt;
};

/// Reads the body of a POST.
Result<Json> read_body(const HttpRequest& request);

/// Reads `model` and checks that it is served; the default is the model's own name.
Result<std::string> read_model(FieldReader& fields, const ServedModel& model);

/// Reads everything that both endpoints share, and refuses by name what is not supported.
Result<GenerationFields> read_generation_fields(FieldReader& fields, const HttpRequest& request,
                                                std::string_view id_prefix, ServerContext& server);

/// Cuts a prompt as the request asks; max_tokens must have been read. Returns whether it did.
/// Errors: kInvalidArgument when more is to be kept than the context has room for.
Result<bool> truncate_prompt(const GenerationFields& fields, const ServedModel& model,
                             std::vector<TokenId>& prompt);

/// Makes the engine's request. Checks that prompt and output fit the model's context; `max_tokens`
/// stands in when the request brings none and is cut to what fits.
Result<Request> make_request(const GenerationFields& fields, std::vector<TokenId> prompt,
                             std::int64_t default_max_tokens, const ServedModel& model);

}  // namespace godwit
