#include "text/normalizer.h"

#include <utility>

#include "text/bert_characters.h"
#include "text/unicode_normalization.h"
#include "text/utf8.h"

namespace godwit {
namespace {

std::string apply_step(const UnicodeStep& step, std::string text) {
  return is_ascii(text) ? text : normalize_unicode(text, step.compatibility, step.compose);
}

std::string apply_step(const LowercaseStep& /*step*/, std::string text) {
  return lower_case(text);
}

std::string apply_step(const ReplaceStep& step, const std::string& text) {
  return replace_matches(step, text);
}

std::string apply_step(const PrependStep& step, std::string text) {
  return text.empty() ? text : step.content + text;
}

std::string apply_step(const StripStep& step, std::string text) {
  std::size_t begin = 0;
  std::size_t end = 0;  // after the last character that stays
  bool inside = !step.left;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t place = at;
    const bool space = is_white_space(next_code_point(text, at));
    if (!inside && !space) {
      begin = place;
      inside = true;
    }
    if (!space || !step.right) {
      end = at;
    }
  }
  return inside && end > begin ? text.substr(begin, end - begin) : std::string();
}

std::string clean(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (is_bert_control(c)) {
      continue;
    }
    append_utf8(out, is_white_space(c) ? U' ' : c);
  }
  return out;
}

std::string separate_ideographs(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    const bool ideograph = is_bert_ideograph(c);
    out.append(ideograph ? " " : "");
    append_utf8(out, c);
    out.append(ideograph ? " " : "");
  }
  return out;
}

std::string strip_accents(std::string_view text) {
  const std::string decomposed = normalize_unicode(text, false, false);
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < decomposed.size();) {
    const char32_t c = next_code_point(decomposed, at);
    if (!is_bert_accent(c)) {
      append_utf8(out, c);
    }
  }
  return out;
}

std::string apply_step(const BertStep& step, std::string text) {
  text = step.clean_text ? clean(text) : text;
  text = step.separate_ideographs ? separate_ideographs(text) : text;
  text = step.strip_accents && !is_ascii(text) ? strip_accents(text) : text;
  return step.lowercase ? lower_case(text) : text;
}

std::string apply_step(const CharsmapStep& step, std::string text) {
  constexpr std::size_t kLongestWhole = 5;  // a longer grapheme is replaced by character alone
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at + grapheme_length(text, at);
    const std::string_view grapheme = std::string_view(text).substr(at, end - at);
    const auto whole =
        grapheme.size() <= kLongestWhole ? step.rules.shortest(grapheme) : std::nullopt;
    if (whole) {
      // The rule may be for the grapheme's beginning; it stands for all of it nevertheless.
      out.append(whole->replacement);
      at = end;
      continue;
    }
    while (at < end) {
      const std::string_view character = std::string_view(text).substr(at, utf8_length(text[at]));
      const auto rule = step.rules.shortest(character);
      out.append(rule ? rule->replacement : character);
      at += character.size();
    }
  }
  return out;
}

std::string apply_step(const SentencePieceStep& step, std::string text) {
  const std::string_view space = step.escape_whitespaces ? kMetaspace : " ";
  std::string out;
  out.reserve(text.size() * 2);
  if (step.add_dummy_prefix && !step.space_as_suffix) {
    out.append(space);
  }
  bool after_space = step.remove_extra_whitespaces;
  bool any = false;  // a text of nothing but removed spaces has no prefix either
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    const auto kept = step.kept.longest_at(text, at);
    const auto rule = kept ? std::nullopt : step.rules.longest(rest);
    const std::size_t length = kept ? kept->length : rule ? rule->length : utf8_length(text[at]);
    std::string_view piece = rule ? rule->replacement : rest.substr(0, length);
    at += length;
    any = any || piece != " " || !step.remove_extra_whitespaces;
    while (after_space && piece.starts_with(' ')) {
      piece.remove_prefix(1);
    }
    if (piece.empty()) {
      continue;
    }
    after_space = step.remove_extra_whitespaces && piece.ends_with(' ');
    for (const char c : piece) {
      if (c == ' ') {
        out.append(space);
      } else {
        out.push_back(c);
      }
    }
  }
  if (!any) {
    return {};
  }
  if (step.remove_extra_whitespaces) {
    while (out.ends_with(space)) {
      out.resize(out.size() - space.size());
    }
  }
  if (step.add_dummy_prefix && step.space_as_suffix) {
    out.append(space);
  }
  return out;
}

}  // namespace

std::string replace_matches(const ReplaceStep& step, std::string_view text) {
  std::string out;
  std::size_t done = 0;
  for (const ByteRange& match : step.pattern.find_all(text)) {
    out.append(text.substr(done, match.begin - done)).append(step.content);
    done = match.end;
  }
  return out.append(text.substr(done));
}

std::string Normalizer::normalize(std::string_view text) const {
  std::string result(text);
  for (const NormalizerStep& step : steps_) {
    result = std::visit([&](const auto& s) { return apply_step(s, std::move(result)); }, step);
  }
  return result;
}

}  // namespace godwit
