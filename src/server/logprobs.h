#pragma once
// Log probabilities as the answers show them, in three forms: chat, plain completions, and prompts.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "request/request.h"

namespace godwit {

class Tokenizer;

/// How answers write tokens.
struct TokenWriter {
  const Tokenizer* tokenizer = nullptr;  ///< Null writes every token as its id.
  bool as_ids = false;

  /// The token's text, or "token_id:17". Bytes that are no UTF-8 stay as they are; JSON shows
  /// U+FFFD.
  [[nodiscard]] std::string text(TokenId id) const;
};

/// {"content": [{"token", "logprob", "bytes", "top_logprobs"}]}.
Json chat_logprobs(const TokenWriter& writer, std::span<const TokenLogprob> tokens);

/// {"text_offset", "token_logprobs", "tokens", "top_logprobs"} of one output, in as many parts as
/// it is sent in. Offsets count code points and go on from part to part.
class CompletionLogprobs {
 public:
  explicit CompletionLogprobs(const TokenWriter& writer) : writer_(writer) {}

  /// Adds a token that has no log probability, which is the first one of a prompt.
  void add_unscored(TokenId token);
  void add(std::span<const TokenLogprob> tokens);
  /// The tokens since the last call.
  Json take();

 private:
  void add_token(TokenId token);
  [[nodiscard]] std::string key_of(TokenId token) const;

  TokenWriter writer_;
  std::int64_t offset_ = 0;
  JsonArray offsets_;
  JsonArray logprobs_;
  JsonArray tokens_;
  JsonArray tops_;
};

/// A list with one entry a prompt token: null for the first one, then {id: {"logprob", "rank",
/// "decoded_token"}} with the prompt's token first.
Json prompt_logprobs(const TokenWriter& writer, std::span<const TokenLogprob> tokens);

}  // namespace godwit
