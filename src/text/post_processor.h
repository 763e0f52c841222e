#pragma once
// Where a tokenizer puts its own tokens around one encoded text or a pair of them.

#include <optional>
#include <vector>

#include "base/ids.h"

namespace godwit {

/// One part of the output: fixed tokens, or the first or second text.
struct TemplatePart {
  enum class Kind { kTokens, kFirst, kSecond };
  Kind kind = Kind::kTokens;
  std::vector<TokenId> tokens;  ///< For kTokens.
  std::int32_t type_id = 0;
};

/// Parts for one text and for a pair. Without special tokens the kTokens parts are left out.
struct PostProcessor {
  std::vector<TemplatePart> single = {{TemplatePart::Kind::kFirst, {}, 0}};
  std::vector<TemplatePart> pair = {{TemplatePart::Kind::kFirst, {}, 0},
                                    {TemplatePart::Kind::kSecond, {}, 1}};
};

/// Puts tokens, where given, before and after each text.
PostProcessor surround(std::optional<TokenId> begin, std::optional<TokenId> end);

/// BERT's: [CLS] A [SEP], and with a second text B [SEP].
PostProcessor bert_template(TokenId begin, TokenId end);

}  // namespace godwit
