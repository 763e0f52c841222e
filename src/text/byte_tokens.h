#pragma once
// Byte fallback: tokens that are written "<0x41>" stand for single bytes, so that a model can spell
// characters that it has no token for.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ids.h"
#include "text/vocabulary.h"

namespace godwit {

/// The byte that a token of the form "<0x41>" stands for.
std::optional<std::uint8_t> byte_of_token(std::string_view token);

/// The tokens of all bytes in a vocabulary.
class ByteTokens {
 public:
  ByteTokens() { ids_.fill(-1); }
  explicit ByteTokens(const Vocabulary& vocabulary);

  /// Appends the tokens of a text's bytes, or nothing (false) when one of them has none.
  bool append(std::string_view text, std::vector<TokenId>& out) const;

 private:
  std::array<TokenId, 256> ids_;
};

}  // namespace godwit
