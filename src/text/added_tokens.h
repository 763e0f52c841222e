#pragma once
// Tokens that are cut out of a text before the model sees the rest: control tokens, white-space
// runs, and whatever else a tokenizer's authors added after training.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "text/code_point_set.h"
#include "text/normalizer.h"
#include "text/split_pattern.h"
#include "text/token_trie.h"

namespace godwit {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;      ///< May be left out of decoded text; plain text under split_special.
  bool normalized = false;   ///< Is looked for in the normalised text.
  bool single_word = false;  ///< Counts only where no word character touches it.
  bool lstrip = false;       ///< Takes the white space before it along.
  bool rstrip = false;       ///< Takes the white space after it along.
};

/// A part of a text: an added token, or text between such (`token` is null then).
struct AddedTokenPart {
  ByteRange range;
  const AddedToken* token;
};

/// Immutable after creation.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Errors: kInvalidArgument for an empty token, a doubled id or text, or more bytes in all than
  /// 16 MiB.
  static Result<AddedTokens> create(std::vector<AddedToken> tokens, const Normalizer& normalizer);

  /// Cuts out the tokens that are looked for in the text as given (`normalized` false) or in its
  /// normalised form.
  [[nodiscard]] std::vector<AddedTokenPart> split(std::string_view text, bool normalized,
                                                  bool split_special) const;

  [[nodiscard]] const AddedToken* find(std::string_view content) const;
  [[nodiscard]] const AddedToken* find(TokenId id) const;
  [[nodiscard]] const std::vector<AddedToken>& all() const { return tokens_; }

 private:
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string, std::size_t> by_content_;
  std::unordered_map<TokenId, std::size_t> by_id_;
  std::array<TokenTrie, 2> tries_;  // by `normalized`
  CodePointSet word_;
  CodePointSet space_;
};

}  // namespace godwit
