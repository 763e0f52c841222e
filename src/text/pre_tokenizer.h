#pragma once
// How a tokenizer cuts a normalised text into the pieces that its model encodes one by one: a
// sequence of steps, each of which cuts the pieces of the one before, and may rewrite their text.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/code_point_set.h"
#include "text/split_pattern.h"

namespace godwit {

/// What becomes of the matches of a pattern and of what lies between them.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Cuts at the matches of a pattern; `invert` swaps matches and the rest.
struct SplitStep {
  SplitPattern pattern;
  SplitBehavior behavior;
  bool invert;
};
/// Cuts at each character of a set (digits, punctuation).
struct CharacterSplitStep {
  CodePointSet characters;
  SplitBehavior behavior;
};
/// Writes bytes as characters (byte_level.h), after an optional cut by GPT-2's pattern.
struct ByteLevelStep {
  bool add_prefix_space;
  std::vector<SplitStep> split;  ///< Empty, or GPT-2's.
  bool write = true;             ///< Otherwise somebody else writes the pieces.
};
/// Writes spaces as another character, puts one before a piece that lacks it, and cuts before each.
struct MetaspaceStep {
  enum class Prepend { kNever, kFirst, kAlways };
  std::string replacement;
  Prepend prepend;  ///< kFirst: only before a piece at the beginning of the whole text.
  bool split;
};
using PreTokenizerStep = std::variant<SplitStep, CharacterSplitStep, ByteLevelStep, MetaspaceStep>;

/// A text and the pieces of it that count, in order.
struct Pieces {
  std::string text;
  std::vector<ByteRange> ranges;
  bool at_beginning = false;  ///< The first piece begins where the whole input does.
};

/// Immutable. No steps means that a text is one piece.
class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps);

  /// Whether the pieces that split() gives are bytes that append_byte_level is still to write: so
  /// it is when that is the last step, which a word that came before need not take again.
  [[nodiscard]] bool leaves_bytes() const { return leaves_bytes_; }
  /// Cuts well-formed text; no piece is empty. `at_beginning`: no text or added token precedes it.
  [[nodiscard]] Pieces split(std::string text, bool at_beginning) const;

 private:
  std::vector<PreTokenizerStep> steps_;
  bool leaves_bytes_ = false;
};

}  // namespace godwit
