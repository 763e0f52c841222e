#include "text/jinja/string_operations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/jinja/budget.h"
#include "text/jinja/unicode.h"

namespace godwit::jinja {
namespace {

/// Finds where the last run of white space, or of other code points, starts.
std::size_t start_of_last_run(std::string_view text, bool of_space) {
  std::size_t start = text.size();
  while (start > 0) {
    std::size_t previous = start - 1;
    while (previous > 0 && (static_cast<unsigned char>(text[previous]) & 0xC0U) == 0x80U) {
      --previous;
    }
    if (is_space(first_code_point(text.substr(previous)).value) != of_space) {
      break;
    }
    start = previous;
  }
  return start;
}

}  // namespace

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator,
                                       std::int64_t limit, bool from_right) {
  std::vector<std::string_view> parts;
  std::int64_t left = limit < 0 ? std::numeric_limits<std::int64_t>::max() : limit;
  for (; left > 0; --left) {
    const std::size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == std::string_view::npos) {
      break;
    }
    if (from_right) {
      parts.push_back(text.substr(at + separator.size()));
      text = text.substr(0, at);
    } else {
      parts.push_back(text.substr(0, at));
      text.remove_prefix(at + separator.size());
    }
  }
  parts.push_back(text);
  if (from_right) {
    std::reverse(parts.begin(), parts.end());
  }
  return parts;
}

std::vector<std::string_view> split_spaces(std::string_view text, std::int64_t limit,
                                           bool from_right) {
  std::vector<std::string_view> parts;
  std::int64_t left = limit < 0 ? std::numeric_limits<std::int64_t>::max() : limit;
  text = from_right ? strip_right(text) : strip_left(text);
  for (; left > 0 && !text.empty(); --left) {
    if (from_right) {
      const std::size_t start = start_of_last_run(text, false);
      parts.push_back(text.substr(start));
      text = strip_right(text.substr(0, start));
      continue;
    }
    std::size_t end = 0;
    while (end < text.size()) {
      const CodePoint point = first_code_point(text.substr(end));
      if (is_space(point.value)) {
        break;
      }
      end += point.size;
    }
    parts.push_back(text.substr(0, end));
    text = strip_left(text.substr(end));
  }
  if (!text.empty()) {
    parts.push_back(from_right ? strip_left(text) : strip_right(text));
  }
  if (from_right) {
    std::reverse(parts.begin(), parts.end());
  }
  return parts;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  std::size_t start = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = first_code_point(text.substr(at));
    const std::size_t line_end = at;
    at += point.size;
    if (!is_line_end(point.value)) {
      continue;
    }
    if (point.value == '\r' && at < text.size() && text[at] == '\n') {
      ++at;
    }
    lines.push_back(text.substr(start, (keep_ends ? at : line_end) - start));
    start = at;
  }
  if (start < text.size()) {
    lines.push_back(text.substr(start));
  }
  return lines;
}

Result<std::string> replace_text(Budget& budget, std::string_view text,
                                 const Replacement& replacement) {
  const auto& [from, to, limit] = replacement;
  std::int64_t left = limit < 0 ? std::numeric_limits<std::int64_t>::max() : limit;
  std::string out;
  TRY(budget.charge_bytes(text.size()));
  if (from.empty()) {
    const std::vector<std::string_view> points = split_code_points(text);
    TRY(budget.charge_bytes(text.size() + (points.size() + 1) * to.size()));
    for (const std::string_view point : points) {
      if (left-- > 0) {
        out += to;
      }
      out += point;
    }
    if (left > 0) {
      out += to;
    }
    return out;
  }
  std::size_t found = 0;
  for (std::size_t at = text.find(from); at != std::string_view::npos;
       at = text.find(from, at + from.size())) {
    ++found;
  }
  TRY(budget.charge_bytes(text.size() + found * to.size()));
  while (left-- > 0) {
    const std::size_t at = text.find(from);
    if (at == std::string_view::npos) {
      break;
    }
    out += text.substr(0, at);
    out += to;
    text.remove_prefix(at + from.size());
  }
  out += text;
  return out;
}

Result<std::string> center_text(Budget& budget, std::string_view text, std::int64_t width,
                                std::string_view fill) {
  const std::int64_t missing = std::max<std::int64_t>(width - length_of(text), 0);
  if (missing > static_cast<std::int64_t>(budget.limits().max_output_bytes)) {
    return budget.charge_bytes(static_cast<std::size_t>(missing));
  }
  TRY(budget.charge_bytes(text.size() + static_cast<std::size_t>(missing) * fill.size()));
  // Python gives the odd one to the left when the width is odd.
  const std::int64_t before = missing / 2 + (missing & width & 1);
  std::string out;
  for (std::int64_t i = 0; i < before; ++i) {
    out += fill;
  }
  out += text;
  for (std::int64_t i = before; i < missing; ++i) {
    out += fill;
  }
  return out;
}

bool is_lower_text(std::string_view text) {
  return to_lower(text) == text && to_upper(text) != text;
}

bool is_upper_text(std::string_view text) {
  return to_upper(text) == text && to_lower(text) != text;
}

}  // namespace godwit::jinja
