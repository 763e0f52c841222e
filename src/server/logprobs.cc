#include "server/logprobs.h"

#include <algorithm>
#include <utility>

#include "text/tokenizer.h"
#include "text/utf8.h"

namespace godwit {
namespace {

/// JSON has no infinity; impossible tokens get what OpenAI and vLLM write.
double finite(float logprob) {
  return std::max(static_cast<double>(logprob), -9999.0);
}

Json bytes_of(const std::string& text) {
  JsonArray bytes;
  for (const char c : text) {
    bytes.emplace_back(static_cast<int>(static_cast<unsigned char>(c)));
  }
  return bytes;
}

Json chat_token(const TokenWriter& writer, TokenId token, float logprob) {
  const std::string text = writer.text(token);
  return JsonObject{{"token", text}, {"logprob", finite(logprob)}, {"bytes", bytes_of(text)}};
}

std::int64_t code_points(const std::string& text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

}  // namespace

std::string TokenWriter::text(TokenId id) const {
  return as_ids || tokenizer == nullptr ? "token_id:" + std::to_string(id)
                                        : tokenizer->token_bytes(id);
}

Json chat_logprobs(const TokenWriter& writer, std::span<const TokenLogprob> tokens) {
  JsonArray content;
  for (const TokenLogprob& token : tokens) {
    Json entry = chat_token(writer, token.token, token.logprob);
    JsonArray top;
    for (const auto& [id, logprob] : token.top) {
      top.push_back(chat_token(writer, id, logprob));
    }
    entry.set("top_logprobs", std::move(top));
    content.push_back(std::move(entry));
  }
  return JsonObject{{"content", std::move(content)}};
}

void CompletionLogprobs::add_token(TokenId token) {
  const std::string text = writer_.text(token);
  offsets_.emplace_back(offset_);
  offset_ += code_points(text);
  tokens_.emplace_back(text);
}

void CompletionLogprobs::add_unscored(TokenId token) {
  add_token(token);
  logprobs_.emplace_back();
  tops_.emplace_back();
}

void CompletionLogprobs::add(std::span<const TokenLogprob> tokens) {
  for (const TokenLogprob& token : tokens) {
    add_token(token.token);
    logprobs_.emplace_back(finite(token.logprob));
    Json top{JsonObject()};
    for (const auto& [id, logprob] : token.top) {
      const std::string key = key_of(id);
      if (top.find(key) == nullptr) {
        top.set(key, finite(logprob));
      }
    }
    top.set(key_of(token.token), finite(token.logprob));
    tops_.push_back(std::move(top));
  }
}

/// As it will be written: tokens that are parts of characters become the same key, the likeliest of
/// which is kept.
std::string CompletionLogprobs::key_of(TokenId token) const {
  std::string key;
  append_well_formed(key, writer_.text(token));
  return key;
}

Json CompletionLogprobs::take() {
  return JsonObject{{"text_offset", std::exchange(offsets_, {})},
                    {"token_logprobs", std::exchange(logprobs_, {})},
                    {"tokens", std::exchange(tokens_, {})},
                    {"top_logprobs", std::exchange(tops_, {})}};
}

Json prompt_logprobs(const TokenWriter& writer, std::span<const TokenLogprob> tokens) {
  const auto entry = [&](TokenId id, float logprob, std::int64_t rank) -> Json {
    return JsonObject{
        {"logprob", finite(logprob)},
        {"rank", rank},
        {"decoded_token", writer.tokenizer == nullptr ? Json() : Json(writer.text(id))}};
  };
  JsonArray list;
  list.emplace_back();
  for (const TokenLogprob& token : tokens) {
    Json alternatives;
    alternatives.set(std::to_string(token.token), entry(token.token, token.logprob, token.rank));
    std::int64_t rank = 0;
    for (const auto& [id, logprob] : token.top) {
      ++rank;
      if (id != token.token) {
        alternatives.set(std::to_string(id), entry(id, logprob, rank));
      }
    }
    list.push_back(std::move(alternatives));
  }
  return list;
}

}  // namespace godwit
