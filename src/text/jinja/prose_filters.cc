// Filters that lay out prose: indent, truncate, wordwrap and the like. Part of filters.h.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/runtime.h"
#include "text/jinja/string_operations.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

Result<Value> center(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string text = TRY(to_text(runtime.budget, self));
  const std::int64_t width = TRY(integer_argument(arguments, 0, "width", 80));
  return Value(TRY(center_text(runtime.budget, text, width, " ")));
}

Result<std::string> indent_prefix(Runtime& runtime, const Arguments& arguments) {
  const Value* width = arguments.find(0, "width");
  if (width != nullptr && width->is_string()) {
    return width->as_string();
  }
  const std::int64_t columns =
      std::max<std::int64_t>(TRY(integer_argument(arguments, 0, "width", 4)), 0);
  TRY(runtime.budget.charge_bytes(static_cast<std::size_t>(columns)));
  return std::string(static_cast<std::size_t>(columns), ' ');
}

Result<Value> indent(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (self.is_undefined()) {
    return self.as_undefined().failure();
  }
  if (!self.is_string()) {
    return type_error("indent takes a string, not " + std::string(self.type_name()));
  }
  const std::string prefix = TRY(indent_prefix(runtime, arguments));
  const bool with_first = flag_argument(arguments, 1, "first", false);
  const bool with_blank = flag_argument(arguments, 2, "blank", false);
  const std::string text = self.as_string() + "\n";
  const std::vector<std::string_view> lines = split_lines(text);
  TRY(runtime.budget.charge_bytes(text.size()));
  const std::size_t limit = runtime.budget.limits().max_output_bytes;
  if (!prefix.empty() && lines.size() > limit / prefix.size()) {
    return runtime.budget.charge_bytes(limit + 1);
  }
  TRY(runtime.budget.charge_bytes(text.size() + lines.size() * prefix.size()));
  std::string out = with_first ? prefix : "";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      out += '\n';
      out += with_blank || !lines[i].empty() ? prefix : "";
    }
    out += lines[i];
  }
  return Value(std::move(out), self.is_markup());
}

Result<Value> title(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  const std::string text = TRY(to_text(runtime.budget, self));
  TRY(runtime.budget.charge_bytes(text.size()));
  // Words begin after these, unlike in str.title().
  constexpr std::string_view kStarts = "-({[<";
  std::string out;
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) {
      const std::size_t size = first_code_point(word).size;
      out += to_upper(word.substr(0, size)) + to_lower(word.substr(size));
      word.clear();
    }
  };
  for (const std::string_view point : split_code_points(text)) {
    if (is_space(first_code_point(point).value) || kStarts.find(point) != std::string_view::npos) {
      finish();
      out += point;
    } else {
      word += point;
    }
  }
  finish();
  return Value(std::move(out), self.is_markup());
}

Result<Value> truncate(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string text = TRY(to_text(runtime.budget, self));
  TRY(runtime.budget.charge_bytes(text.size()));
  const std::int64_t size = TRY(integer_argument(arguments, 0, "length", 255));
  const bool kill_words = flag_argument(arguments, 1, "killwords", false);
  const std::string end = TRY(string_argument(arguments, 2, "end", "..."));
  const Value* leeway_given = arguments.find(3, "leeway");
  const std::int64_t leeway = leeway_given == nullptr || leeway_given->is_none()
                                  ? 5
                                  : TRY(integer_argument(arguments, 3, "leeway", 5));
  const std::int64_t end_size = length_of(std::string_view(end));
  if (size < end_size || leeway < 0) {
    return value_error("truncate needs a length that is not below that of its end");
  }
  if (length_of(std::string_view(text)) - leeway <= size) {
    return self.is_string() ? self : Value(text);
  }
  std::string_view kept = std::string_view(text).substr(0, offset_of(text, size - end_size));
  if (!kill_words) {
    kept = kept.substr(0, std::min(kept.rfind(' '), kept.size()));
  }
  return Value(std::string(kept) + end, self.is_markup());
}

Result<Value> wordcount(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  const std::string text = TRY(to_text(runtime.budget, self));
  TRY(runtime.budget.charge_bytes(text.size()));
  std::int64_t words = 0;
  bool in_word = false;
  for (const std::string_view point : split_code_points(text)) {
    const bool word = is_word(first_code_point(point).value);
    words += word && !in_word ? 1 : 0;
    in_word = word;
  }
  return Value(words);
}

/// Splits a line into words and runs of white space; words may break after hyphens.
std::vector<std::string_view> chunks_of(std::string_view line, bool break_on_hyphens) {
  std::vector<std::string_view> chunks;
  std::size_t start = 0;
  bool was_space = false;
  for (std::size_t at = 0; at < line.size();) {
    const CodePoint point = first_code_point(line.substr(at));
    const bool space = is_space(point.value);
    const bool after_hyphen = break_on_hyphens && at >= 2 && line[at - 1] == '-' &&
                              start < at - 1 && is_alpha(point.value) &&
                              is_word(static_cast<unsigned char>(line[at - 2]));
    if (at > start && (space != was_space || after_hyphen)) {
      chunks.push_back(line.substr(start, at - start));
      start = at;
    }
    was_space = space;
    at += point.size;
  }
  if (start < line.size()) {
    chunks.push_back(line.substr(start));
  }
  return chunks;
}

struct WrapOptions {
  std::int64_t width = 79;
  bool break_long_words = true;
  bool break_on_hyphens = true;
};

/// Wraps one line greedily; white space at the breaks is dropped.
std::vector<std::string> wrap_line(std::string_view text, const WrapOptions& options) {
  std::vector<std::string> lines;
  std::string line;
  std::int64_t used = 0;
  const auto is_blank = [](std::string_view chunk) { return strip_left(chunk).empty(); };
  const auto finish = [&] {
    const std::string_view kept = strip_right(line);
    if (!kept.empty()) {
      lines.emplace_back(kept);
    }
    line.clear();
    used = 0;
  };
  for (std::string_view chunk : chunks_of(text, options.break_on_hyphens)) {
    if (used == 0 && is_blank(chunk) && !lines.empty()) {
      continue;
    }
    std::int64_t size = length_of(chunk);
    if (used + size > options.width && size <= options.width) {
      finish();
      if (is_blank(chunk)) {
        continue;
      }
    }
    while (size > options.width && options.break_long_words) {
      const std::size_t take = offset_of(chunk, std::max<std::int64_t>(options.width - used, 1));
      line += chunk.substr(0, take);
      chunk.remove_prefix(take);
      size = length_of(chunk);
      finish();
    }
    if (size > options.width && used > 0) {
      finish();
    }
    line += chunk;
    used += size;
  }
  finish();
  return lines;
}

Result<Value> wordwrap(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string text = TRY(to_text(runtime.budget, self));
  WrapOptions options;
  options.width = TRY(integer_argument(arguments, 0, "width", 79));
  options.break_long_words = flag_argument(arguments, 1, "break_long_words", true);
  options.break_on_hyphens = flag_argument(arguments, 3, "break_on_hyphens", true);
  const Value* wrap = arguments.find(2, "wrapstring");
  const std::string between = wrap == nullptr || wrap->is_none()
                                  ? "\n"
                                  : TRY(string_argument(arguments, 2, "wrapstring", "\n"));
  if (options.width < 1) {
    return value_error("wordwrap needs a width of at least 1");
  }
  const std::size_t limit = runtime.budget.limits().max_output_bytes;
  if (text.size() > limit / (between.size() + 1)) {
    return runtime.budget.charge_bytes(limit + 1);
  }
  // Breaking a long word measures its rest each time.
  const std::size_t passes = text.size() / static_cast<std::size_t>(options.width) + 1;
  TRY(runtime.budget.charge(static_cast<std::int64_t>(text.size() / 32 * passes)));
  TRY(runtime.budget.charge_bytes(text.size() * (between.size() + 1)));
  std::string out;
  bool first = true;
  for (const std::string_view source : split_lines(text)) {
    const std::vector<std::string> lines = wrap_line(source, options);
    out += first ? "" : between;
    first = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      out += i == 0 ? "" : between;
      out += lines[i];
    }
  }
  return Value(std::move(out));
}

std::string unescape_html(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kEntities = {{
      {"&lt;", "<"},
      {"&gt;", ">"},
      {"&quot;", "\""},
      {"&#34;", "\""},
      {"&#39;", "'"},
      {"&nbsp;", "\xC2\xA0"},
      {"&amp;", "&"},
  }};
  std::string out;
  while (!text.empty()) {
    const auto* entity =
        std::find_if(kEntities.begin(), kEntities.end(), [&](const auto& candidate) {
          return text.substr(0, candidate.first.size()) == candidate.first;
        });
    if (entity != kEntities.end()) {
      out += entity->second;
      text.remove_prefix(entity->first.size());
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

/// Removes what lies between `open` and `close`, as often as both are found.
std::string remove_between(std::string_view text, std::string_view open, std::string_view close) {
  std::string out;
  while (true) {
    const std::size_t start = text.find(open);
    const std::size_t end =
        start == std::string_view::npos ? start : text.find(close, start + open.size());
    if (end == std::string_view::npos) {
      out += text;
      return out;
    }
    out += text.substr(0, start);
    text.remove_prefix(end + close.size());
  }
}

Result<Value> striptags(Runtime& runtime, const Value& self, const Arguments& /*arguments*/) {
  const std::string text = TRY(to_text(runtime.budget, self));
  TRY(runtime.budget.charge_bytes(text.size()));
  const std::string plain = remove_between(remove_between(text, "<!--", "-->"), "<", ">");
  std::string out;
  for (const std::string_view word : split_spaces(plain, -1, false)) {
    out += out.empty() ? "" : " ";
    out += word;
  }
  return Value(unescape_html(out));
}

/// Holds for a word that is a link: a scheme or "www.", then a host with a top-level domain of at
/// least two letters.
bool is_link(std::string_view word) {
  bool has_prefix = false;
  for (const std::string_view prefix : {"https://", "http://", "www."}) {
    if (word.substr(0, prefix.size()) == prefix) {
      word.remove_prefix(prefix.size());
      has_prefix = true;
      break;
    }
  }
  if (!has_prefix) {
    return false;
  }
  const std::string_view host = word.substr(0, std::min(word.find_first_of("/?#:"), word.size()));
  const std::size_t dot = host.rfind('.');
  const std::string_view domain = dot == std::string_view::npos ? host : host.substr(dot + 1);
  return domain.size() >= 2 && std::all_of(domain.begin(), domain.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
         });
}

Result<Value> urlize(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string text = TRY(to_escaped(runtime.budget, self));
  const bool nofollow = flag_argument(arguments, 1, "nofollow", false);
  TRY(runtime.budget.charge_bytes(text.size() * 4));
  std::string out;
  std::string word;
  const auto finish = [&] {
    constexpr std::string_view kTrailing = ".,;:!?)";
    std::string_view link = word;
    while (!link.empty() && kTrailing.find(link.back()) != std::string_view::npos) {
      link.remove_suffix(1);
    }
    if (is_link(link)) {
      const std::string scheme = link.substr(0, 4) == "www." ? "https://" : "";
      out += "<a href=\"" + scheme + std::string(link) + "\" rel=\"";
      out += nofollow ? "nofollow noopener" : "noopener";
      out += "\">" + std::string(link) + "</a>" + word.substr(link.size());
    } else {
      out += word;
    }
    word.clear();
  };
  for (const std::string_view point : split_code_points(text)) {
    if (is_space(first_code_point(point).value)) {
      finish();
      out += point;
    } else {
      word += point;
    }
  }
  finish();
  return Value(std::move(out), runtime.autoescape);
}

constexpr std::array<Function, 8> kFilters = {{
    {"center", center, "width", 0},
    {"indent", indent, "width first blank", 0},
    {"striptags", striptags, "", 0},
    {"title", title, "", 0},
    {"truncate", truncate, "length killwords end leeway", 0},
    {"urlize", urlize, "trim_url_limit nofollow target rel extra_schemes", 0},
    {"wordcount", wordcount, "", 0},
    {"wordwrap", wordwrap, "width break_long_words wrapstring break_on_hyphens", 0},
}};

}  // namespace

std::span<const Function> prose_filters() {
  return kFilters;
}

}  // namespace godwit::jinja
