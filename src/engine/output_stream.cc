#include "engine/output_stream.h"

#include <algorithm>

namespace godwit {

OutputStream::OutputStream(const Tokenizer* tokenizer, const Request& request)
    : request_(&request) {
  if (tokenizer != nullptr) {
    detokenizer_.emplace(*tokenizer, request.prompt, request.sampling.skip_special_tokens);
  }
}

void OutputStream::emit(TokenId token, Delta& delta) {
  ++num_tokens_;
  delta.token_ids.push_back(token);
  if (!detokenizer_) {
    return;
  }
  const bool ended_by_token = delta.finish_reason == FinishReason::kStop;
  if (!ended_by_token || request_->sampling.include_stop_str_in_output) {
    append_text(detokenizer_->push(token), delta);
  }
  if (delta.finish_reason && !delta.stop_string) {
    flush(delta);
  }
}

void OutputStream::flush(Delta& delta) {
  if (!detokenizer_) {
    return;
  }
  append_text(detokenizer_->flush(), delta);
  delta.text.append(tail_, sent_);
  tail_.clear();
  sent_ = 0;
}

void OutputStream::append_text(const std::string& text, Delta& delta) {
  tail_ += text;
  const bool may_stop = num_tokens_ > request_->sampling.min_tokens;
  if (may_stop && cut_at_stop_string(text.size(), delta)) {
    return;
  }
  const std::size_t keep = tail_.size() - possible_stop_bytes();
  const bool included = request_->sampling.include_stop_str_in_output;
  const std::size_t sendable = included ? tail_.size() : keep;
  delta.text.append(tail_, sent_, sendable - sent_);
  tail_.erase(0, keep);
  sent_ = sendable - keep;
}

/// Looks for the stop string that is complete first, and sends what stands before it.
bool OutputStream::cut_at_stop_string(std::size_t new_bytes, Delta& delta) {
  std::size_t first_end = std::string::npos;
  const std::string* found = nullptr;
  for (const std::string& stop : request_->sampling.stop) {
    // Anything earlier was searched when it came.
    const std::size_t reach = new_bytes + stop.size();
    const std::size_t from = tail_.size() > reach ? tail_.size() - reach : 0;
    const std::size_t begin = tail_.find(stop, from);
    if (begin != std::string::npos && begin + stop.size() < first_end) {
      first_end = begin + stop.size();
      found = &stop;
    }
  }
  if (found == nullptr) {
    return false;
  }
  const bool included = request_->sampling.include_stop_str_in_output;
  const std::size_t end = included ? first_end : first_end - found->size();
  delta.text.append(tail_, sent_, end - sent_);
  delta.finish_reason = FinishReason::kStop;
  delta.stop_string = *found;
  tail_.clear();
  sent_ = 0;
  return true;
}

/// The longest end of the text that begins a stop string.
std::size_t OutputStream::possible_stop_bytes() const {
  std::size_t longest = 0;
  for (const std::string& stop : request_->sampling.stop) {
    for (std::size_t length = std::min(stop.size() - 1, tail_.size()); length > longest; --length) {
      if (tail_.compare(tail_.size() - length, length, stop, 0, length) == 0) {
        longest = length;
      }
    }
  }
  return longest;
}

}  // namespace godwit
