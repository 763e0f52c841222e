#pragma once
// What a tokenizer does to a text before it splits it: a sequence of steps.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/charsmap.h"
#include "text/split_pattern.h"
#include "text/token_trie.h"

namespace godwit {

/// How SentencePiece writes a space.
inline constexpr std::string_view kMetaspace = "\xE2\x96\x81";

/// Unicode normalisation: NFD, NFKD, NFC or NFKC.
struct UnicodeStep {
  bool compatibility;  ///< The K forms.
  bool compose;        ///< The C forms.
};
/// Lower-cases each character by itself, without the context rules of whole words.
struct LowercaseStep {};
/// Replaces each match.
struct ReplaceStep {
  SplitPattern pattern;
  std::string content;
};
/// The text with each match of the step replaced.
std::string replace_matches(const ReplaceStep& step, std::string_view text);

/// Puts a text before any that is not empty.
struct PrependStep {
  std::string content;
};
/// Removes white space at the ends.
struct StripStep {
  bool left;
  bool right;
};
/// BERT's own rules.
struct BertStep {
  bool clean_text;           ///< Drops control characters; white space becomes a space.
  bool separate_ideographs;  ///< Puts spaces around Chinese characters.
  bool strip_accents;
  bool lowercase;
};
/// SentencePiece's compiled rules as Hugging Face applies them, to one grapheme at a time.
struct CharsmapStep {
  Charsmap rules;
};
/// All that the sentencepiece library does to a text.
struct SentencePieceStep {
  Charsmap rules;
  TokenTrie kept;  ///< Texts that the rules leave alone.
  bool add_dummy_prefix;
  bool remove_extra_whitespaces;
  bool escape_whitespaces;  ///< Spaces become kMetaspace.
  bool space_as_suffix;     ///< The dummy prefix goes to the end.
};
using NormalizerStep = std::variant<UnicodeStep, LowercaseStep, ReplaceStep, PrependStep, StripStep,
                                    BertStep, CharsmapStep, SentencePieceStep>;

/// Immutable. No steps means that texts stay as they are.
class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {}

  [[nodiscard]] bool empty() const { return steps_.empty(); }
  /// Takes and returns well-formed text.
  [[nodiscard]] std::string normalize(std::string_view text) const;

 private:
  std::vector<NormalizerStep> steps_;
};

}  // namespace godwit
