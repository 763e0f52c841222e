#include "text/jinja/unicode.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utf8proc.h>
#include <utility>
#include <vector>

namespace godwit::jinja {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

/// Upper cases of more than one code point, which utf8proc's simple mapping lacks.
constexpr std::array<std::pair<char32_t, std::string_view>, 9> kLongUpper = {{
    {0xDF, "SS"},
    {0x149, "\xCA\xBCN"},
    {0xFB00, "FF"},
    {0xFB01, "FI"},
    {0xFB02, "FL"},
    {0xFB03, "FFI"},
    {0xFB04, "FFL"},
    {0xFB05, "ST"},
    {0xFB06, "ST"},
}};

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

void append_upper(std::string& out, char32_t c) {
  for (const auto& [from, to] : kLongUpper) {
    if (from == c) {
      out += to;
      return;
    }
  }
  append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}

void append_title(std::string& out, char32_t c) {
  for (const auto& [from, to] : kLongUpper) {
    if (from == c) {
      out += to.substr(0, from == 0x149 ? to.size() : 1);
      out += from == 0x149 ? std::string() : to_lower(to.substr(1));
      return;
    }
  }
  append_utf8(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
}

void append_lower(std::string& out, char32_t c) {
  if (c == 0x130) {
    out += "i\xCC\x87";
    return;
  }
  append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

bool is_cased(char32_t c) {
  return is_upper(c) || is_lower(c) || category(c) == UTF8PROC_CATEGORY_LT;
}

/// A capital sigma is lowered to its final form after a letter at the end of a word.
bool is_final_sigma(std::string_view before, std::string_view after) {
  if (before.empty()) {
    return false;
  }
  std::size_t start = before.size() - 1;
  while (start > 0 && (static_cast<unsigned char>(before[start]) & 0xC0U) == 0x80U) {
    --start;
  }
  const bool letter_before = is_cased(first_code_point(before.substr(start)).value);
  return letter_before && (after.empty() || !is_cased(first_code_point(after).value));
}

template <class Visit>
void for_each_code_point(std::string_view text, const Visit& visit) {
  std::size_t offset = 0;
  while (offset < text.size()) {
    const CodePoint point = first_code_point(text.substr(offset));
    visit(point.value, offset, point.size);
    offset += point.size;
  }
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) {
    return {lead, 1};
  }
  utf8proc_int32_t value = 0;
  const utf8proc_ssize_t size = utf8proc_iterate(
      // utf8proc reads bytes as its own unsigned type.
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),  // NOLINT
      static_cast<utf8proc_ssize_t>(text.size()), &value);
  if (size <= 0) {
    return {kReplacement, 1};
  }
  return {static_cast<char32_t>(value), static_cast<std::size_t>(size)};
}

void append_utf8(std::string& out, char32_t value) {
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    value = kReplacement;
  }
  const auto put = [&](char32_t byte) {
    out += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0U | (value >> 6U));
    put(0x80U | (value & 0x3FU));
  } else if (value < 0x10000) {
    put(0xE0U | (value >> 12U));
    put(0x80U | ((value >> 6U) & 0x3FU));
    put(0x80U | (value & 0x3FU));
  } else {
    put(0xF0U | (value >> 18U));
    put(0x80U | ((value >> 12U) & 0x3FU));
    put(0x80U | ((value >> 6U) & 0x3FU));
    put(0x80U | (value & 0x3FU));
  }
}

std::int64_t length_of(std::string_view text) {
  std::int64_t count = 0;
  for_each_code_point(text, [&](char32_t, std::size_t, std::size_t) { ++count; });
  return count;
}

std::vector<std::string_view> split_code_points(std::string_view text) {
  std::vector<std::string_view> points;
  for_each_code_point(text, [&](char32_t, std::size_t offset, std::size_t size) {
    points.push_back(text.substr(offset, size));
  });
  return points;
}

std::size_t offset_of(std::string_view text, std::int64_t index) {
  std::size_t offset = 0;
  for (; index > 0 && offset < text.size(); --index) {
    offset += first_code_point(text.substr(offset)).size;
  }
  return offset;
}

bool is_space(char32_t c) {
  if (c < 0x80) {
    return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  }
  return c == 0x85 || category(c) == UTF8PROC_CATEGORY_ZS || c == 0x2028 || c == 0x2029;
}

bool is_alpha(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t c) {
  return is_decimal(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 || c == 0x2070 ||
         (c >= 0x2074 && c <= 0x2079) || (c >= 0x2080 && c <= 0x2089) ||
         (c >= 0x2460 && c <= 0x2468);
}

bool is_upper(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LU;
}

bool is_lower(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LL;
}

bool is_printable(char32_t c) {
  if (c < 0x7F) {
    return c >= 0x20;
  }
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool is_word(char32_t c) {
  if (c < 0x80) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }
  const utf8proc_category_t kind = category(c);
  return is_alpha(c) || (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO);
}

std::string to_upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_code_point(text, [&](char32_t c, std::size_t, std::size_t) { append_upper(out, c); });
  return out;
}

std::string to_lower(std::string_view text) {
  constexpr char32_t kSigma = 0x3A3;
  std::string out;
  out.reserve(text.size());
  for_each_code_point(text, [&](char32_t c, std::size_t offset, std::size_t size) {
    if (c == kSigma && is_final_sigma(text.substr(0, offset), text.substr(offset + size))) {
      append_utf8(out, 0x3C2);
    } else {
      append_lower(out, c);
    }
  });
  return out;
}

std::string capitalize(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  const CodePoint first = first_code_point(text);
  std::string out;
  append_title(out, first.value);
  return out + to_lower(text.substr(first.size));
}

std::string to_title(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_word = false;
  for_each_code_point(text, [&](char32_t c, std::size_t, std::size_t) {
    if (in_word) {
      append_lower(out, c);
    } else {
      append_title(out, c);
    }
    in_word = is_cased(c);
  });
  return out;
}

std::string swap_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_code_point(text, [&](char32_t c, std::size_t, std::size_t) {
    if (is_upper(c)) {
      append_lower(out, c);
    } else {
      append_upper(out, c);
    }
  });
  return out;
}

std::string_view strip_left(std::string_view text, const std::string* chars) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const bool removed = chars == nullptr
                             ? is_space(point.value)
                             : chars->find(text.substr(0, point.size)) != std::string::npos;
    if (!removed) {
      break;
    }
    text.remove_prefix(point.size);
  }
  return text;
}

std::string_view strip_right(std::string_view text, const std::string* chars) {
  while (!text.empty()) {
    std::size_t start = text.size() - 1;
    while (start > 0 && text.size() - start < 4 &&
           (static_cast<unsigned char>(text[start]) & 0xC0U) == 0x80U) {
      --start;
    }
    CodePoint point = first_code_point(text.substr(start));
    if (start + point.size != text.size()) {
      start = text.size() - 1;
      point = {kReplacement, 1};
    }
    const bool removed = chars == nullptr ? is_space(point.value)
                                          : chars->find(text.substr(start)) != std::string::npos;
    if (!removed) {
      break;
    }
    text.remove_suffix(point.size);
  }
  return text;
}

}  // namespace godwit::jinja
