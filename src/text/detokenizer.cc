#include "text/detokenizer.h"

#include <algorithm>

#include "text/byte_tokens.h"
#include "text/utf8.h"

namespace godwit {
namespace {

/// How many tokens of the prompt may take part in its last character.
constexpr std::size_t kPromptTokens = 8;
/// A window takes the prompt's last tokens, and of those that are left the last as its context.
constexpr std::size_t kWindowPromptTokens = 7;
constexpr std::size_t kWindowContext = 5;
/// More tokens than this are not kept as context, nor waited for when they give no text, so that no
/// sequence costs more and more.
constexpr std::size_t kLongestSilence = 256;

/// Counts the characters of well-formed text.
std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80;
  }));
}

}  // namespace

ByteDetokenizer::ByteDetokenizer(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
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

void ByteDetokenizer::append(TokenId id) {
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

std::string ByteDetokenizer::take() {
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

std::string ByteDetokenizer::push(TokenId id) {
  append(id);
  const std::size_t of_prompt = cut_bytes_ > 0 ? 1 : 0;
  return ends_whole_ && characters_ > of_prompt ? take() : std::string();
}

std::string ByteDetokenizer::flush() {
  return held_.empty() ? std::string() : take();
}

WindowDetokenizer::WindowDetokenizer(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                                     bool skip_special_tokens)
    : tokenizer_(&tokenizer), skip_special_tokens_(skip_special_tokens) {
  for (const TokenId id : prompt.last(std::min(prompt.size(), kWindowPromptTokens))) {
    if (!skip_special_tokens_ || !tokenizer_->is_special(id)) {
      window_.push_back(id);
    }
  }
  const std::size_t extra = window_.size() - std::min(window_.size(), kWindowContext);
  window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(extra));
  context_ = window_.size();
  const std::string text = tokenizer_->decode(window_, false);
  context_characters_ = count_characters(text);
  for (const TokenId id : window_) {
    add_to_byte_run(tokenizer_->id_to_token(id).value_or(""));
  }
}

/// Follows the byte tokens at the end; returns whether the text ends in U+FFFD because of them.
bool WindowDetokenizer::add_to_byte_run(std::string_view token) {
  const std::optional<std::uint8_t> byte = byte_of_token(token);
  if (!byte || tokenizer_->byte_runs() == TokenDecoder::ByteRuns::kNone) {
    run_end_.clear();
    run_broken_ = false;
    return false;
  }
  run_end_.push_back(static_cast<char>(*byte));
  bool ends_broken = false;
  for (std::size_t at = 0; at < run_end_.size();) {
    const Utf8Step step = decode_utf8(run_end_, at);
    if (step.truncated) {
      run_end_.erase(0, at);
      return true;
    }
    ends_broken = !step.well_formed;
    run_broken_ = run_broken_ || ends_broken;
    at += step.length;
  }
  run_end_.clear();
  return tokenizer_->byte_runs() == TokenDecoder::ByteRuns::kAllOrNothing ? run_broken_
                                                                          : ends_broken;
}

std::string WindowDetokenizer::push(TokenId id) {
  const std::optional<std::string_view> token = tokenizer_->id_to_token(id);
  if (!token || (skip_special_tokens_ && tokenizer_->is_special(id))) {
    return {};
  }
  window_.push_back(id);
  if (add_to_byte_run(*token) || token->ends_with(kReplacementUtf8)) {
    return {};
  }
  return take(false);
}

std::string WindowDetokenizer::take(bool unfinished) {
  const std::string text = tokenizer_->decode(window_, false);
  const auto context_end = window_.begin() + static_cast<std::ptrdiff_t>(context_);
  if (count_characters(text) <= context_characters_ ||
      (!unfinished && text.ends_with(kReplacementUtf8))) {
    if (window_.size() - context_ > kLongestSilence) {
      window_.erase(context_end, window_.end());
    }
    return {};
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; i < context_characters_; ++i) {
    begin += utf8_length(text[begin]);
  }
  const std::size_t fresh = window_.size() - context_;
  const std::size_t kept = std::min(fresh, kLongestSilence);
  window_.erase(window_.begin(), window_.end() - static_cast<std::ptrdiff_t>(kept));
  context_ = window_.size();
  context_characters_ = count_characters(tokenizer_->decode(window_, false));
  run_broken_ = false;
  return text.substr(begin);
}

std::string WindowDetokenizer::flush() {
  return take(true);
}

Detokenizer::Detokenizer(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                         bool skip_special_tokens)
    : state_(tokenizer.bytewise()
                 ? decltype(state_)(ByteDetokenizer(tokenizer, prompt, skip_special_tokens))
                 : decltype(state_)(WindowDetokenizer(tokenizer, prompt, skip_special_tokens))) {}

std::string Detokenizer::push(TokenId id) {
  return std::visit([&](auto& state) { return state.push(id); }, state_);
}

std::string Detokenizer::flush() {
  return std::visit([](auto& state) { return state.flush(); }, state_);
}

}  // namespace godwit
