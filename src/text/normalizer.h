#pragma once
// What a tokenizer does to a text before it splits it: a sequence of steps.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/split_pattern.h"

namespace godwit {

/// Unicode normalisation: NFC, or NFKC when `compatibility` is set.
struct ComposeStep {
  bool compatibility;
};
/// Lower-cases each character by itself, without the context rules of whole words.
struct LowercaseStep {};
/// Replaces each match.
struct ReplaceStep {
  SplitPattern pattern;
  std::string content;
};
using NormalizerStep = std::variant<ComposeStep, LowercaseStep, ReplaceStep>;

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
