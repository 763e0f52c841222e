#include "text/unicode_normalization.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utf8proc.h>
#include <vector>

#include "base/check.h"
#include "text/hugging_face_characters.h"
#include "text/utf8.h"

namespace godwit {
namespace {

/// Decomposes each character fully.
std::vector<utf8proc_int32_t> decompose(std::string_view text, bool compatibility) {
  const int options = UTF8PROC_DECOMPOSE | (compatibility ? UTF8PROC_COMPAT : 0);
  std::vector<utf8proc_int32_t> out;
  out.reserve(text.size());
  constexpr utf8proc_ssize_t kRoom = 32;  // the longest decomposition has 18
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (c < 0x80 || newer_than_normalizer(c)) {
      out.push_back(static_cast<utf8proc_int32_t>(c));
      continue;
    }
    const std::size_t size = out.size();
    out.resize(size + kRoom);
    int boundary_class = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), out.data() + size, kRoom,
                                static_cast<utf8proc_option_t>(options), &boundary_class);
    CHECK(count >= 0 && count <= kRoom);
    out.resize(size + static_cast<std::size_t>(count));
  }
  return out;
}

utf8proc_propval_t combining_class(utf8proc_int32_t c) {
  return c < 0x300 || newer_than_normalizer(static_cast<char32_t>(c))
             ? utf8proc_propval_t{0}
             : utf8proc_get_property(c)->combining_class;
}

/// Puts runs of combining marks into canonical order. utf8proc's own sort takes quadratic time.
void order_marks(std::vector<utf8proc_int32_t>& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    if (combining_class(text[begin]) == 0) {
      ++begin;
      continue;
    }
    std::size_t end = begin + 1;
    while (end < text.size() && combining_class(text[end]) != 0) {
      ++end;
    }
    std::stable_sort(text.begin() + static_cast<std::ptrdiff_t>(begin),
                     text.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](utf8proc_int32_t a, utf8proc_int32_t b) {
                       return combining_class(a) < combining_class(b);
                     });
    begin = end;
  }
}

/// The character that two compose to, or -1.
utf8proc_int32_t compose_pair(utf8proc_int32_t first, utf8proc_int32_t second) {
  const auto may_compose = [](utf8proc_int32_t c) {
    const bool hangul = (c >= 0x1100 && c < 0x1200) || (c >= 0xAC00 && c < 0xD7A4);
    return !newer_than_normalizer(static_cast<char32_t>(c)) &&
           (hangul || utf8proc_get_property(c)->comb_index != UINT16_MAX);
  };
  if (second < 0x300 || !may_compose(second) || !may_compose(first)) {
    return -1;
  }
  std::array<utf8proc_int32_t, 2> pair = {first, second};
  const utf8proc_ssize_t length = utf8proc_normalize_utf32(
      pair.data(), 2, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  return length == 1 ? pair[0] : -1;
}

/// Unicode's canonical composition of decomposed and ordered text.
void compose(std::vector<utf8proc_int32_t>& text) {
  std::size_t size = 0;
  std::size_t starter = text.size();  // none yet
  utf8proc_propval_t last_class = 0;
  for (const utf8proc_int32_t c : text) {
    const utf8proc_propval_t own_class = combining_class(c);
    // A mark reaches its starter unless one of its own or a higher class lies between.
    const bool reaches =
        starter < size && (starter + 1 == size || (last_class < own_class && last_class != 0));
    const utf8proc_int32_t composed = reaches ? compose_pair(text[starter], c) : -1;
    if (composed >= 0) {
      text[starter] = composed;
      continue;
    }
    if (own_class == 0) {
      starter = size;
    }
    last_class = own_class;
    text[size++] = c;
  }
  text.resize(size);
}

}  // namespace

std::string normalize_unicode(std::string_view text, bool compatibility, bool composed) {
  std::vector<utf8proc_int32_t> characters = decompose(text, compatibility);
  order_marks(characters);
  if (composed) {
    compose(characters);
  }
  std::string out;
  out.reserve(text.size());
  for (const utf8proc_int32_t c : characters) {
    append_utf8(out, static_cast<char32_t>(c));
  }
  return out;
}

std::string lower_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (c == 0x130) {
      out.append("i\xCC\x87");  // the one character whose lower case has two
    } else if (const std::optional<char32_t> newer = newer_lower_case(c)) {
      append_utf8(out, *newer);
    } else {
      append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    }
  }
  return out;
}

std::size_t grapheme_length(std::string_view text, std::size_t at) {
  std::size_t end = at;
  char32_t last = next_code_point(text, end);
  utf8proc_int32_t state = 0;
  while (end < text.size()) {
    std::size_t next = end;
    const char32_t c = next_code_point(text, next);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(last),
                                         static_cast<utf8proc_int32_t>(c), &state)) {
      break;
    }
    last = c;
    end = next;
  }
  return end - at;
}

}  // namespace godwit
