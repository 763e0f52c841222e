#include "text/utf8.h"

#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace godwit {

Utf8Step decode_utf8(std::string_view bytes, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) {
    return {lead, 1, true, false};
  }
  // The second byte has a narrower range after some leads (no overlong forms, surrogates, or code
  // points above U+10FFFF): Unicode standard, table 3-7.
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  char32_t code_point = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    code_point = lead & 0x1FU;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    code_point = lead & 0x0FU;
    low = lead == 0xE0 ? 0xA0 : low;
    high = lead == 0xED ? 0x9F : high;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    code_point = lead & 0x07U;
    low = lead == 0xF0 ? 0x90 : low;
    high = lead == 0xF4 ? 0x8F : high;
  } else {
    return {kReplacementCharacter, 1, false, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i == bytes.size()) {
      return {kReplacementCharacter, i, false, true};
    }
    const unsigned char next = byte(at + i);
    if (next < low || next > high) {
      return {kReplacementCharacter, i, false, false};
    }
    code_point = (code_point << 6) | (next & 0x3FU);
    low = 0x80;
    high = 0xBF;
  }
  return {code_point, length, true, false};
}

bool is_ascii(std::string_view text) {
  return end_of_ascii(text, 0) == text.size();
}

std::size_t end_of_ascii(std::string_view text, std::size_t at) {
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080U) != 0) {
      break;
    }
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) {
    ++at;
  }
  return at;
}

bool is_well_formed_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      at = end_of_ascii(text, at);
      continue;
    }
    const Utf8Step step = decode_utf8(text, at);
    if (!step.well_formed) {
      return false;
    }
    at += step.length;
  }
  return true;
}

void append_well_formed(std::string& out, std::string_view bytes) {
  std::size_t good_begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const Utf8Step step = decode_utf8(bytes, at);
    if (!step.well_formed) {
      out.append(bytes.substr(good_begin, at - good_begin)).append(kReplacementUtf8);
      good_begin = at + step.length;
    }
    at += step.length;
  }
  out.append(bytes.substr(good_begin));
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

char32_t next_code_point(std::string_view text, std::size_t& at) {
  const Utf8Step step = decode_utf8(text, at);
  DCHECK(step.well_formed);
  at += step.length;
  return step.code_point;
}

}  // namespace godwit
