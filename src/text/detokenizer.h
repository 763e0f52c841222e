#pragma once
// Text from tokens that come one at a time. A token may end inside a character, so text is held
// back until it ends with a whole one.

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "text/tokenizer.h"

namespace godwit {

/// The state for tokenizers whose tokens have bytes of their own.
class ByteDetokenizer {
 public:
  ByteDetokenizer(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                  bool skip_special_tokens);
  std::string push(TokenId id);
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

/// The state for the others: the tokens that gave the last text, and those after them. Their text
/// together, without as many characters as the former alone have, is what is new.
class WindowDetokenizer {
 public:
  WindowDetokenizer(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                    bool skip_special_tokens);
  std::string push(TokenId id);
  std::string flush();

 private:
  bool add_to_byte_run(std::string_view token);
  std::string take(bool unfinished);

  const Tokenizer* tokenizer_;
  bool skip_special_tokens_;
  std::vector<TokenId> window_;
  std::size_t context_ = 0;             // so many tokens of window_ gave text that was returned
  std::size_t context_characters_ = 0;  // of those tokens' text
  std::string run_end_;                 // an unfinished character of byte tokens at the end
  bool run_broken_ = false;             // the byte tokens at the end are no UTF-8 as a whole
};

/// One sequence's state. The tokenizer must outlive it. The work for all tokens together is linear
/// in their text.
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
  std::variant<ByteDetokenizer, WindowDetokenizer> state_;
};

}  // namespace godwit
