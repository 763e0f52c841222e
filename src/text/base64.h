#pragma once
// Base64, in which the files of tiktoken and of Precompiled normalizers keep bytes.

#include <optional>
#include <string>
#include <string_view>

namespace godwit {

/// Decodes the standard alphabet; padding may be left out. Nothing for any other character, or for
/// a length that no text has.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace godwit
