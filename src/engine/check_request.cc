#include "engine/check_request.h"

namespace godwit {
namespace {

// A request with more outputs than this is a mistake, and each costs memory at once.
constexpr std::int32_t kMaxOutputs = 16384;

Status check_token(TokenId token, const char* field, const EngineLimits& limits) {
  if (token < 0 || token >= limits.vocab_size) {
    return invalid_argument(std::string(field) + " holds the token id " + std::to_string(token),
                            "ids go from 0 to " + std::to_string(limits.vocab_size - 1));
  }
  return {};
}

Status check_prompt(const Request& request, const EngineLimits& limits) {
  if (request.prompt.empty()) {
    return invalid_argument("the prompt holds no tokens", "give at least one");
  }
  const auto length = static_cast<std::int64_t>(request.prompt.size());
  const std::int64_t room = request.sampling.max_tokens == 0 ? 0 : 1;
  if (length + room > limits.max_model_len) {
    return invalid_argument("the prompt holds " + std::to_string(length) +
                                " tokens, but prompt and output together may be " +
                                std::to_string(limits.max_model_len) + " tokens long",
                            "shorten it, or serve with a larger --max-model-len");
  }
  for (const TokenId token : request.prompt) {
    TRY(check_token(token, "the prompt", limits));
  }
  return {};
}

Status check_logprobs(const std::optional<std::int32_t>& wanted, const char* field,
                      const EngineLimits& limits) {
  if (wanted && *wanted > limits.max_logprobs) {
    return invalid_argument(
        std::string(field) + " is " + std::to_string(*wanted),
        "this server allows " + std::to_string(limits.max_logprobs) + " (--max-logprobs)");
  }
  return {};
}

}  // namespace

Status check_request(const Request& request, const EngineLimits& limits) {
  TRY(check_prompt(request, limits));
  TRY(validate(request.sampling));
  TRY(check_logprobs(request.sampling.logprobs, "logprobs", limits));
  TRY(check_logprobs(request.sampling.prompt_logprobs, "prompt_logprobs", limits));
  for (const auto& [token, bias] : request.sampling.logit_bias) {
    TRY(check_token(token, "logit_bias", limits));
  }
  for (const TokenId token : request.sampling.logprob_token_ids) {
    TRY(check_token(token, "logprob_token_ids", limits));
  }
  if (const TokenRules* rules = request.sampling.token_rules.get()) {
    for (const TokenId token : rules->allowed) {
      TRY(check_token(token, "allowed_token_ids", limits));
    }
    for (const std::vector<TokenId>& banned : rules->banned) {
      if (banned.empty()) {
        return invalid_argument("bad_words holds a word without tokens", "leave it out");
      }
    }
  }
  if (request.n < 1 || request.n > kMaxOutputs) {
    return invalid_argument("n is " + std::to_string(request.n),
                            "give an integer from 1 to " + std::to_string(kMaxOutputs));
  }
  return {};
}

}  // namespace godwit
