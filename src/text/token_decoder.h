#pragma once
// How a tokenizer turns tokens back into text: a sequence of steps over the list of tokens, whose
// texts are joined at the end.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/normalizer.h"

namespace godwit {

/// Reads the tokens as GPT-2's byte characters; what is no UTF-8 becomes U+FFFD.
struct ByteLevelDecoder {};
/// Replaces each match in each token.
struct ReplaceDecoder {
  ReplaceStep step;
};
/// Turns runs of byte tokens (byte_tokens.h) into text; each byte of a run that is no UTF-8 becomes
/// U+FFFD.
struct ByteFallbackDecoder {};
/// Joins all tokens into one.
struct FuseDecoder {};
/// Takes a character off the ends of each token, at most so many times.
struct StripDecoder {
  std::string content;
  std::size_t start;
  std::size_t stop;
};
/// Turns a character into a space, or into nothing in the first token if `strip_first`.
struct MetaspaceDecoder {
  std::string replacement;
  bool strip_first;
};
/// Puts a space before each token but the first, or takes off the prefix of a continuing one;
/// `cleanup` then takes out spaces before punctuation and English contractions.
struct WordPieceDecoder {
  std::string prefix;
  bool cleanup;
};
/// What the sentencepiece library does. A run of byte tokens is read character by character.
struct SentencePieceDecoder {
  bool strip_first;          ///< Takes off the space that the normaliser put before the text.
  bool strip_spaces;         ///< Takes off a space of each token until there is text.
  std::string unknown;       ///< The unknown token,
  std::string unknown_text;  ///< and what it reads as.
};
using DecoderStep =
    std::variant<ByteLevelDecoder, ReplaceDecoder, ByteFallbackDecoder, FuseDecoder, StripDecoder,
                 MetaspaceDecoder, WordPieceDecoder, SentencePieceDecoder>;

/// Immutable.
class TokenDecoder {
 public:
  /// What a run of byte tokens is when some of it is no UTF-8.
  enum class ByteRuns { kNone, kAllOrNothing, kByCharacter };

  /// No steps: the tokens are words, joined with spaces.
  explicit TokenDecoder(std::vector<DecoderStep> steps);
  /// A decoder of one step.
  explicit TokenDecoder(DecoderStep step);

  /// Whether each token has bytes of its own, which in a row are the text.
  [[nodiscard]] bool bytewise() const { return bytewise_; }
  /// How byte tokens are read: kNone when they are text like any other.
  [[nodiscard]] ByteRuns byte_runs() const { return byte_runs_; }

  /// The text of a list of tokens, well-formed if the tokens are.
  [[nodiscard]] std::string decode(std::vector<std::string> tokens) const;
  /// Appends the bytes that a token stands for inside a text.
  void append_bytes(std::string& out, std::string_view token) const;

 private:
  std::vector<DecoderStep> steps_;
  bool bytewise_ = false;
  ByteRuns byte_runs_ = ByteRuns::kNone;
};

}  // namespace godwit
