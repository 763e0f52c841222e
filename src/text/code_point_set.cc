#include "text/code_point_set.h"

#include <algorithm>
#include <array>

#include "text/unicode_classes.h"

namespace godwit {
namespace {

constexpr std::array<std::uint8_t, 128> kDigitValues = [] {
  std::array<std::uint8_t, 128> values{};
  for (std::size_t i = 0; i < kUnicodeClassDigits.size(); ++i) {
    values[static_cast<unsigned char>(kUnicodeClassDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

}  // namespace

CodePointSet::CodePointSet(std::initializer_list<CodePointRange> ranges) : ranges_(ranges) {
  normalize();
}

CodePointSet CodePointSet::from_sorted(std::vector<CodePointRange> ranges) {
  CodePointSet set;
  set.ranges_ = std::move(ranges);
  return set;
}

void CodePointSet::add(char32_t first, char32_t last) {
  ranges_.push_back({first, last});
  normalize();
}

void CodePointSet::add(const CodePointSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  normalize();
}

void CodePointSet::normalize() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const CodePointRange& a, const CodePointRange& b) { return a.first < b.first; });
  std::size_t count = 0;
  for (const CodePointRange& range : ranges_) {
    if (count > 0 && range.first <= ranges_[count - 1].last + 1) {
      ranges_[count - 1].last = std::max(ranges_[count - 1].last, range.last);
    } else {
      ranges_[count++] = range;
    }
  }
  ranges_.resize(count);
}

CodePointSet CodePointSet::complement() const {
  CodePointSet result;
  char32_t next = 0;
  for (const CodePointRange& range : ranges_) {
    if (range.first > next) {
      result.ranges_.push_back({next, range.first - 1});
    }
    next = range.last + 1;
  }
  if (next <= kLast) {
    result.ranges_.push_back({next, kLast});
  }
  return result;
}

CodePointSet CodePointSet::intersection(const CodePointSet& other) const {
  CodePointSet result;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const char32_t first = std::max(a->first, b->first);
    const char32_t last = std::min(a->last, b->last);
    if (first <= last) {
      result.ranges_.push_back({first, last});
    }
    if (a->last < b->last) {
      ++a;
    } else {
      ++b;
    }
  }
  return result;
}

bool CodePointSet::contains(char32_t code_point) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), code_point,
                       [](char32_t value, const CodePointRange& r) { return value < r.first; });
  return after != ranges_.begin() && code_point <= std::prev(after)->last;
}

std::optional<CodePointSet> unicode_class(std::string_view name) {
  for (const UnicodeClass& entry : unicode_classes()) {
    if (entry.name != name) {
      continue;
    }
    std::vector<CodePointRange> ranges;
    char32_t end = 0;
    std::size_t at = 0;
    const auto number = [&] {
      char32_t value = 0;
      for (int shift = 0;; shift += 5) {
        const char32_t digit = kDigitValues[static_cast<unsigned char>(entry.ranges[at++])];
        value |= (digit & 31) << shift;
        if (digit < 32) {
          return value;
        }
      }
    };
    while (at < entry.ranges.size()) {
      const char32_t first = end + number();
      const char32_t last = first + number();
      ranges.push_back({first, last});
      end = last + 1;
    }
    return CodePointSet::from_sorted(std::move(ranges));
  }
  return std::nullopt;
}

}  // namespace godwit
