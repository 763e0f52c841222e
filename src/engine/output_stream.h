#pragma once
// One output of a request on its way to the client: tokens become text, and stop strings end it.

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "request/request.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace godwit {

/// Text is held back while it could be the start of a stop string, so that no part of one is sent
/// (unless the request wants stop strings in its output).
class OutputStream {
 public:
  /// `tokenizer` is null when no text is wanted. Tokenizer and request must outlive this.
  OutputStream(const Tokenizer* tokenizer, const Request& request);

  /// Takes the next token and appends to `delta` the token and the text that can be sent. When a
  /// stop string ends the output, sets delta.finish_reason and delta.stop_string. When delta has a
  /// finish_reason already, the token is the last one: a token that ended the output gives no text.
  void emit(TokenId token, Delta& delta);

  /// Appends the text that is still held back: the output ends without a further token.
  void flush(Delta& delta);

 private:
  void append_text(const std::string& text, Delta& delta);
  bool cut_at_stop_string(std::size_t new_bytes, Delta& delta);
  [[nodiscard]] std::size_t possible_stop_bytes() const;

  const Request* request_;
  std::optional<Detokenizer> detokenizer_;
  std::string tail_;      // The end of the text, from where a stop string may have begun.
  std::size_t sent_ = 0;  // Leading bytes of tail_ that were sent.
  std::int64_t num_tokens_ = 0;
};

}  // namespace godwit
