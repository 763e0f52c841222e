#include "text/detokenizer.h"

#include <algorithm>

#include "text/utf8.h"

namespace godwit {
namespace {

/// How many tokens of the prompt may take part in its last character.
constexpr std::size_t kPromptTokens = 8;

}  // namespace

Detokenizer::Detokenizer(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                         bool skip_special_tokens)
    : tokenizer_(&tokenizer), skip_special_tokens_(skip_special_tokens) {
  std::string tail;
  for (const TokenId id : prompt.last(std::min(prompt.size(), kPromptTokens))) {
    if (!skip_special_tokens_ || !tokenizer_->is_special(id)) {
      tokenizer_->append_token_bytes(tail, id);
    }
  }
  for (std::size_t at = 0; at < tail.size();) {
    const Utf8Step step = decode_utf8(tail, at);
    if (step.truncated) {
      held_ = tail.substr(at);
      cut_bytes_ = held_.size();
    }
    at += step.length;
  }
}

void Detokenizer::append(TokenId id) {
  if (skip_special_tokens_ && tokenizer_->is_special(id)) {
    return;
  }
  tokenizer_->append_token_bytes(held_, id);
  while (scanned_ < held_.size()) {
    const Utf8Step step = decode_utf8(held_, scanned_);
    if (step.truncated) {
      ends_whole_ = false;
      return;
    }
    scanned_ += step.length;
    ++characters_;
    ends_whole_ = step.code_point != kReplacementCharacter;
  }
}

std::string Detokenizer::take() {
  std::string text;
  append_well_formed(text, held_);
  if (cut_bytes_ > 0) {
    // Whatever the cut character became, it is the first one here.
    text.erase(0, utf8_length(text[0]));
    cut_bytes_ = 0;
  }
  held_.clear();
  scanned_ = 0;
  characters_ = 0;
  ends_whole_ = false;
  return text;
}

std::string Detokenizer::push(TokenId id) {
  append(id);
  const std::size_t of_prompt = cut_bytes_ > 0 ? 1 : 0;
  return ends_whole_ && characters_ > of_prompt ? take() : std::string();
}

std::string Detokenizer::flush() {
  return held_.empty() ? std::string() : take();
}

}  // namespace godwit
