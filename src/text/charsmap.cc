#include "text/charsmap.h"

#include "text/utf8.h"

namespace godwit {
namespace {

// A unit of the trie: a label (or, in a leaf, a value) and the offset to the unit's children.
bool has_leaf(std::uint32_t unit) {
  return ((unit >> 8) & 1U) != 0;
}
std::uint32_t value_of(std::uint32_t unit) {
  return unit & 0x7FFFFFFFU;
}
std::uint32_t label_of(std::uint32_t unit) {
  return unit & 0x800000FFU;
}
std::size_t offset_of(std::uint32_t unit) {
  return std::size_t{unit >> 10} << ((unit & (1U << 9)) >> 6);
}

std::uint32_t read_little_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i > 0; --i) {
    value = (value << 8) | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return value;
}

}  // namespace

Result<Charsmap> Charsmap::create(std::string_view bytes) {
  const auto bad = [](std::string_view what) {
    return invalid_argument("the normalisation rules (charsmap) " + std::string(what),
                            "check that the file is complete and unchanged");
  };
  if (bytes.size() < 4) {
    return bad("are shorter than 4 bytes");
  }
  const std::size_t trie_size = read_little_endian(bytes, 0);
  if (trie_size % 4 != 0 || trie_size > bytes.size() - 4) {
    return bad("have " + std::to_string(bytes.size()) + " bytes, too few for a trie of " +
               std::to_string(trie_size));
  }
  Charsmap map;
  map.units_.reserve(trie_size / 4);
  for (std::size_t at = 4; at < 4 + trie_size; at += 4) {
    map.units_.push_back(read_little_endian(bytes, at));
  }
  map.replacements_ = bytes.substr(4 + trie_size);
  if (!is_well_formed_utf8(map.replacements_)) {
    return bad("have replacements that are no UTF-8");
  }
  return map;
}

std::string_view Charsmap::replacement_at(std::size_t offset) const {
  const std::string_view rest = std::string_view(replacements_).substr(offset);
  return rest.substr(0, rest.find('\0'));
}

std::optional<Charsmap::Match> Charsmap::find(std::string_view text, bool first) const {
  std::optional<Match> match;
  if (units_.empty()) {
    return match;
  }
  std::size_t node = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    // A zero byte labels leaves alone.
    if (byte == 0 || node >= units_.size() || label_of(units_[node]) != byte) {
      break;
    }
    const std::uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) {
      continue;
    }
    if (node >= units_.size()) {
      break;
    }
    const std::size_t offset = value_of(units_[node]);
    const auto starts_character = [](std::string_view bytes, std::size_t at) {
      return at == bytes.size() || (static_cast<unsigned char>(bytes[at]) & 0xC0U) != 0x80;
    };
    if (offset >= replacements_.size() || !starts_character(replacements_, offset) ||
        !starts_character(text, i + 1)) {
      break;  // no sound map goes to or cuts inside a character
    }
    match = Match{i + 1, replacement_at(offset)};
    if (first) {
      break;
    }
  }
  return match;
}

std::optional<Charsmap::Match> Charsmap::longest(std::string_view text) const {
  return find(text, false);
}

std::optional<Charsmap::Match> Charsmap::shortest(std::string_view text) const {
  return find(text, true);
}

}  // namespace godwit
