#pragma once
// How a tokenizer turns tokens back into text. Every decoder here gives each token bytes of its
// own; the text is those bytes in a row, with what is no UTF-8 replaced.

#include <string>
#include <string_view>
#include <variant>

#include "text/byte_level.h"

namespace godwit {

/// Reads tokens as GPT-2's byte characters.
struct ByteLevelDecoder {
  static void append_bytes(std::string& out, std::string_view token) {
    append_byte_level_decoded(out, token);
  }
};
using TokenDecoder = std::variant<ByteLevelDecoder>;

}  // namespace godwit
