#pragma once
// Text from tokens that come one at a time. A token may end inside a character, so text is held
// back until it ends with a whole one.

#include <span>
#include <string>

#include "text/tokenizer.h"

namespace godwit {

/// One sequence's state. The tokenizer must outlive it. Constant work a byte, however long the
/// sequence.
class Detokenizer {
 public:
  /// `prompt` is what comes before the first pushed token. When it ends inside a character, the
  /// rest of that character belongs to the prompt's text and is not returned.
  Detokenizer(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
              bool skip_special_tokens);

  /// Takes the next token and returns the text that is now certain; empty while it is held back.
  /// Text that ends in U+FFFD is held back too: the character may be unfinished.
  std::string push(TokenId id);
  /// Returns what is held back, unfinished characters as U+FFFD.
  std::string flush();

 private:
  void append(TokenId id);
  std::string take();

  const Tokenizer* tokenizer_;
  bool skip_special_tokens_;
  std::string held_;            // the bytes after the last text returned
  std::size_t scanned_ = 0;     // the characters of held_ before this are known
  bool ends_whole_ = false;     // held_ ends with a character other than U+FFFD
  std::size_t cut_bytes_ = 0;   // at the front of held_: the start of the prompt's last character
  std::size_t characters_ = 0;  // of held_, counting what is ill-formed as it would be decoded
};

}  // namespace godwit
