#include "text/byte_level.h"

#include <array>
#include <cstdint>

#include "text/utf8.h"

namespace godwit {
namespace {

struct Alphabet {
  std::array<char32_t, 256> character_of{};
  std::array<std::int16_t, kByteLevelEnd> byte_of{};
};

constexpr Alphabet kAlphabet = [] {
  Alphabet alphabet;
  for (std::int16_t& byte : alphabet.byte_of) {
    byte = -1;
  }
  char32_t next = 0x100;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const bool visible =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    alphabet.character_of[byte] = visible ? static_cast<char32_t>(byte) : next++;
    alphabet.byte_of[alphabet.character_of[byte]] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}();

}  // namespace

void append_byte_level(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) {
    append_utf8(out, kAlphabet.character_of[static_cast<unsigned char>(byte)]);
  }
}

void append_byte_level_decoded(std::string& out, std::string_view token) {
  const std::size_t before = out.size();
  for (std::size_t at = 0; at < token.size();) {
    const Utf8Step step = decode_utf8(token, at);
    if (step.code_point >= kByteLevelEnd || kAlphabet.byte_of[step.code_point] < 0) {
      out.resize(before);
      out.append(token);
      return;
    }
    out.push_back(static_cast<char>(kAlphabet.byte_of[step.code_point]));
    at += step.length;
  }
}

}  // namespace godwit
