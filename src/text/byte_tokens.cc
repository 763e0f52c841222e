#include "text/byte_tokens.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace godwit {

std::optional<std::uint8_t> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') {
    return std::nullopt;
  }
  std::uint8_t byte = 0;
  const char* const end = token.data() + 5;
  const auto [stop, error] = std::from_chars(token.data() + 3, end, byte, 16);
  return error == std::errc() && stop == end ? std::optional(byte) : std::nullopt;
}

ByteTokens::ByteTokens(const Vocabulary& vocabulary) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < ids_.size(); ++byte) {
    const std::string token = {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
    ids_[byte] = vocabulary.find(token).value_or(-1);
  }
}

bool ByteTokens::append(std::string_view text, std::vector<TokenId>& out) const {
  const auto id_of = [&](char byte) { return ids_[static_cast<unsigned char>(byte)]; };
  if (!std::all_of(text.begin(), text.end(), [&](char byte) { return id_of(byte) >= 0; })) {
    return false;
  }
  for (const char byte : text) {
    out.push_back(id_of(byte));
  }
  return true;
}

}  // namespace godwit
