#include "text/pattern_translator.h"

#include <algorithm>
#include <bitset>
#include <optional>
#include <variant>

#include "text/pattern_class_reader.h"
#include "text/utf8.h"

namespace godwit {

CharacterKinds::CharacterKinds() {
  pages_.resize(256 * kPageSize);
  for (std::size_t kind = 0; kind < 256; ++kind) {
    std::fill_n(pages_.begin() + static_cast<std::ptrdiff_t>(kind * kPageSize), kPageSize,
                static_cast<std::uint8_t>(kind));
  }
  page_of_.fill(128);
  page_of_[0] = 256;
  pages_.resize(257 * kPageSize, 128);
  for (std::size_t c = 0; c < 128; ++c) {
    pages_[256 * kPageSize + c] = static_cast<std::uint8_t>(c);
  }
}

void CharacterKinds::assign(char32_t first, char32_t last, std::uint8_t kind) {
  for (char32_t at = first; at <= last;) {
    std::uint16_t& page = page_of_[at >> kPageBits];
    const char32_t page_last = at | (kPageSize - 1);
    if ((at & (kPageSize - 1)) == 0 && page_last <= last) {
      page = kind;
    } else {
      if (page < 256) {
        const std::size_t old = pages_.size();
        pages_.resize(old + kPageSize, static_cast<std::uint8_t>(page));
        page = static_cast<std::uint16_t>(old / kPageSize);
      }
      const char32_t end = std::min(last, page_last);
      for (char32_t c = at; c <= end; ++c) {
        pages_[page * kPageSize + (c & (kPageSize - 1))] = kind;
      }
    }
    at = page_last + 1;
  }
}

namespace {

constexpr std::size_t kMaxPatternBytes = 1 << 16;
constexpr std::size_t kMaxSets = 256;
constexpr std::size_t kMaxGroupDepth = 64;

/// The pattern as text to copy and sets of characters to match, in order.
using Part = std::variant<std::string, std::size_t>;  // size_t: index of a set

class Translator {
 public:
  explicit Translator(std::string_view pattern) : reader_(pattern) {}

  Result<TranslatedPattern> run() {
    while (!reader_.at_end()) {
      TRY(read_element());
    }
    if (!ignore_case_of_group_.empty()) {
      return reader_.malformed("a group is not closed");
    }
    return build();
  }

 private:
  Status read_element() {
    const char c = reader_.peek();
    switch (c) {
      case '(':
        return open_group();
      case ')':
        return close_group();
      case '{':
        if (const std::optional<std::string> interval = reader_.take_interval()) {
          return interval_end(*interval);
        }
        return read_set();
      case '|':
      case '*':
      case '+':
      case '?':
      case '^':
      case '$':
        reader_.skip(1);
        put(std::string(1, c));
        return {};
      case '\\':
        if (const std::optional<std::string> anchor = reader_.take_anchor()) {
          put(*anchor);
          return {};
        }
        return read_set();
      default:
        return read_set();
    }
  }

  Status interval_end(const std::string& interval) {
    if (!reader_.at_end() && reader_.peek() == '+') {
      // Oniguruma repeats the interval here; PCRE2 would make it possessive.
      return reader_.unsupported("'+' after an interval");
    }
    put(interval);
    return {};
  }

  Status open_group() {
    if (ignore_case_of_group_.size() >= kMaxGroupDepth) {
      return reader_.unsupported("groups nested this deeply");
    }
    ignore_case_of_group_.push_back(ignore_case_);
    constexpr std::array<std::string_view, 6> kKinds = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"};
    for (const std::string_view kind : kKinds) {
      if (reader_.take(kind)) {
        put(std::string(kind));
        return {};
      }
    }
    if (reader_.take("(?i:")) {
      ignore_case_ = true;
      put("(?:");
      return {};
    }
    if (reader_.take("(?i)")) {
      // An option without a group holds until the group around it ends.
      ignore_case_of_group_.pop_back();
      ignore_case_ = true;
      return {};
    }
    if (reader_.take("(?")) {
      return reader_.unsupported("this kind of group");
    }
    reader_.skip(1);
    put("(?:");
    return {};
  }

  Status close_group() {
    if (ignore_case_of_group_.empty()) {
      return reader_.malformed("')' closes no group");
    }
    reader_.skip(1);
    ignore_case_ = ignore_case_of_group_.back();
    ignore_case_of_group_.pop_back();
    put(")");
    return {};
  }

  Status read_set() {
    CodePointSet set = TRY(reader_.take_set());
    if (ignore_case_) {
      set = TRY(reader_.without_case(set));
    }
    const auto found = std::find(sets_.begin(), sets_.end(), set);
    if (found == sets_.end() && sets_.size() == kMaxSets) {
      return reader_.unsupported("more than 256 different characters and classes");
    }
    parts_.emplace_back(static_cast<std::size_t>(found - sets_.begin()));
    if (found == sets_.end()) {
      sets_.push_back(std::move(set));
    }
    return {};
  }

  void put(std::string text) { parts_.emplace_back(std::move(text)); }

  /// Cuts the code points above U+007F into intervals that lie wholly inside or outside each set,
  /// and gives those with equal membership one kind.
  Status assign_kinds(CharacterKinds& kinds) {
    struct Edge {
      char32_t at;
      std::size_t set;
    };
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      for (const CodePointRange& range : sets_[i].ranges()) {
        if (range.last >= 0x80) {
          edges.push_back({std::max<char32_t>(range.first, 0x80), i});
          edges.push_back({range.last + 1, i});
        }
      }
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
    std::bitset<kMaxSets> inside;
    memberships_.push_back(inside);
    std::size_t i = 0;
    while (i < edges.size() && edges[i].at <= CodePointSet::kLast) {
      const char32_t first = edges[i].at;
      for (; i < edges.size() && edges[i].at == first; ++i) {
        inside.flip(edges[i].set);
      }
      const char32_t last = i < edges.size() ? edges[i].at - 1 : CodePointSet::kLast;
      auto known = std::find(memberships_.begin(), memberships_.end(), inside);
      if (known == memberships_.end()) {
        if (memberships_.size() == 128) {
          return reader_.unsupported("more than 128 kinds of characters outside ASCII");
        }
        known = memberships_.insert(known, inside);
      }
      kinds.assign(first, last, static_cast<std::uint8_t>(128 + (known - memberships_.begin())));
    }
    return {};
  }

  [[nodiscard]] std::string byte_class(std::size_t set) const {
    std::bitset<256> members;
    for (std::size_t c = 0; c < 128; ++c) {
      members[c] = sets_[set].contains(static_cast<char32_t>(c));
    }
    for (std::size_t kind = 0; kind < memberships_.size(); ++kind) {
      members[128 + kind] = memberships_[kind][set];
    }
    if (members.none()) {
      return R"([^\x00-\xff])";
    }
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto escaped = [&](std::size_t byte) {
      return std::string(R"(\x)") + kHex[byte >> 4] + kHex[byte & 15];
    };
    std::string text = "[";
    for (std::size_t first = 0; first < 256; ++first) {
      if (!members[first]) {
        continue;
      }
      std::size_t last = first;
      while (last + 1 < 256 && members[last + 1]) {
        ++last;
      }
      text += escaped(first);
      if (last > first) {
        text += "-" + escaped(last);
      }
      first = last;
    }
    return text + "]";
  }

  Result<TranslatedPattern> build() {
    TranslatedPattern result;
    TRY(assign_kinds(result.kinds));
    for (const Part& part : parts_) {
      const auto* const text = std::get_if<std::string>(&part);
      result.bytes_pattern += text != nullptr ? *text : byte_class(std::get<std::size_t>(part));
    }
    return result;
  }

  PatternClassReader reader_;
  bool ignore_case_ = false;
  std::vector<bool> ignore_case_of_group_;
  std::vector<Part> parts_;
  std::vector<CodePointSet> sets_;
  std::vector<std::bitset<kMaxSets>> memberships_;
};

}  // namespace

Result<TranslatedPattern> translate_pattern(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return unimplemented("a regular expression of " + std::to_string(pattern.size()) +
                         " bytes; the limit is " + std::to_string(kMaxPatternBytes));
  }
  if (!is_well_formed_utf8(pattern)) {
    return invalid_argument("a regular expression is not well-formed UTF-8");
  }
  return Translator(pattern).run();
}

}  // namespace godwit
