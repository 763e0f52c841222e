#include "text/pre_tokenizer.h"

#include <algorithm>
#include <type_traits>

#include "text/byte_level.h"
#include "text/utf8.h"

namespace godwit {
namespace {

/// Part of a piece: a match of the pattern, or what lies between two.
struct Part {
  ByteRange range;
  bool match;
};

/// Appends the pieces that `parts`, which cover a piece without gaps, become.
void append_pieces(std::vector<ByteRange>& out, const std::vector<Part>& parts,
                   SplitBehavior behavior) {
  const std::size_t first_new = out.size();
  const auto can_join = [&] { return out.size() > first_new; };
  bool previous_match = false;
  switch (behavior) {
    case SplitBehavior::kIsolated:
    case SplitBehavior::kRemoved:
      for (const Part& part : parts) {
        if (behavior == SplitBehavior::kIsolated || !part.match) {
          out.push_back(part.range);
        }
      }
      break;
    case SplitBehavior::kContiguous:
      for (const Part& part : parts) {
        if (part.match == previous_match && can_join()) {
          out.back().end = part.range.end;
        } else {
          out.push_back(part.range);
        }
        previous_match = part.match;
      }
      break;
    case SplitBehavior::kMergedWithPrevious:
      for (const Part& part : parts) {
        if (part.match && !previous_match && can_join()) {
          out.back().end = part.range.end;
        } else {
          out.push_back(part.range);
        }
        previous_match = part.match;
      }
      break;
    case SplitBehavior::kMergedWithNext:
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->match && !previous_match && can_join()) {
          out.back().begin = part->range.begin;
        } else {
          out.push_back(part->range);
        }
        previous_match = part->match;
      }
      std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first_new), out.end());
      break;
  }
  const auto empty = [](const ByteRange& range) { return range.begin == range.end; };
  out.erase(std::remove_if(out.begin() + static_cast<std::ptrdiff_t>(first_new), out.end(), empty),
            out.end());
}

/// Lists matches and what lies between them.
std::vector<Part> parts_of(std::string_view text, const SplitStep& step, std::size_t offset) {
  std::vector<Part> parts;
  std::size_t done = 0;
  const auto put = [&](std::size_t begin, std::size_t end, bool match) {
    parts.push_back({{offset + begin, offset + end}, match != step.invert});
  };
  for (const ByteRange& match : step.pattern.find_all(text)) {
    if (match.begin > done) {
      put(done, match.begin, false);
    }
    put(match.begin, match.end, true);
    done = match.end;
  }
  if (done < text.size()) {
    put(done, text.size(), false);
  }
  return parts;
}

std::vector<Part> parts_of(std::string_view text, const CharacterSplitStep& step,
                           std::size_t offset) {
  std::vector<Part> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const bool match = step.characters.contains(next_code_point(text, at));
    if (!match && !parts.empty() && !parts.back().match) {
      parts.back().range.end = offset + at;
    } else {
      parts.push_back({{offset + begin, offset + at}, match});
    }
  }
  return parts;
}

/// Appends the matches and what lies between them.
void append_isolated(std::vector<ByteRange>& out, std::string_view text, const SplitStep& step,
                     std::size_t offset) {
  std::size_t done = 0;
  step.pattern.for_each(text, [&](const ByteRange& match) {
    if (match.begin > done) {
      out.push_back({offset + done, offset + match.begin});
    }
    if (match.end > match.begin) {
      out.push_back({offset + match.begin, offset + match.end});
    }
    done = match.end;
  });
  if (done < text.size()) {
    out.push_back({offset + done, offset + text.size()});
  }
}

template <class Step>
Pieces apply_split(const Step& step, Pieces pieces) {
  std::vector<ByteRange> ranges;
  ranges.reserve(pieces.ranges.size());
  for (const ByteRange& range : pieces.ranges) {
    const std::string_view piece =
        std::string_view(pieces.text).substr(range.begin, range.end - range.begin);
    if constexpr (std::is_same_v<Step, SplitStep>) {
      // What most tokenizers ask for needs no list of parts.
      if (step.behavior == SplitBehavior::kIsolated) {
        append_isolated(ranges, piece, step, range.begin);
        continue;
      }
    }
    append_pieces(ranges, parts_of(piece, step, range.begin), step.behavior);
  }
  pieces.at_beginning =
      pieces.at_beginning && !ranges.empty() && ranges.front().begin == pieces.ranges.front().begin;
  pieces.ranges = std::move(ranges);
  return pieces;
}

Pieces apply(const SplitStep& step, Pieces pieces) {
  return apply_split(step, std::move(pieces));
}

Pieces apply(const CharacterSplitStep& step, Pieces pieces) {
  return apply_split(step, std::move(pieces));
}

/// Rewrites the text of each piece.
template <class Rewrite>
Pieces rewrite(const Pieces& pieces, const Rewrite& append) {
  Pieces result;
  result.at_beginning = pieces.at_beginning;
  result.text.reserve(pieces.text.size() * 2);
  result.ranges.reserve(pieces.ranges.size());
  for (const ByteRange& range : pieces.ranges) {
    const std::size_t begin = result.text.size();
    append(result.text, std::string_view(pieces.text).substr(range.begin, range.end - range.begin));
    result.ranges.push_back({begin, result.text.size()});
  }
  return result;
}

Pieces apply(const ByteLevelStep& step, Pieces pieces) {
  if (step.add_prefix_space) {
    pieces = rewrite(pieces, [](std::string& out, std::string_view piece) {
      out.append(piece.starts_with(' ') ? "" : " ").append(piece);
    });
  }
  for (const SplitStep& split : step.split) {
    pieces = apply(split, std::move(pieces));
  }
  return step.write ? rewrite(pieces, append_byte_level) : pieces;
}

/// Cuts before each occurrence of a text.
Pieces cut_before(std::string_view mark, Pieces pieces) {
  std::vector<ByteRange> ranges;
  ranges.reserve(pieces.ranges.size());
  for (const ByteRange& range : pieces.ranges) {
    const std::string_view piece = std::string_view(pieces.text).substr(0, range.end);
    std::size_t begin = range.begin;
    for (std::size_t at = begin; at < range.end;) {
      at = std::min(piece.find(mark, at), range.end);
      if (at > begin) {
        ranges.push_back({begin, at});
        begin = at;
      }
      at += mark.size();
    }
    if (begin < range.end) {
      ranges.push_back({begin, range.end});
    }
  }
  pieces.ranges = std::move(ranges);
  return pieces;
}

Pieces apply(const MetaspaceStep& step, Pieces pieces) {
  bool first = pieces.at_beginning;
  pieces = rewrite(pieces, [&](std::string& out, std::string_view piece) {
    const bool prepend = step.prepend == MetaspaceStep::Prepend::kAlways ||
                         (step.prepend == MetaspaceStep::Prepend::kFirst && first);
    first = false;
    if (prepend && !piece.starts_with(' ') && !piece.starts_with(step.replacement)) {
      out.append(step.replacement);
    }
    for (const char c : piece) {
      if (c == ' ') {
        out.append(step.replacement);
      } else {
        out.push_back(c);
      }
    }
  });
  return step.split ? cut_before(step.replacement, std::move(pieces)) : pieces;
}

}  // namespace

PreTokenizer::PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {
  auto* const last = steps_.empty() ? nullptr : std::get_if<ByteLevelStep>(&steps_.back());
  if (last != nullptr) {
    last->write = false;
    leaves_bytes_ = true;
  }
}

Pieces PreTokenizer::split(std::string text, bool at_beginning) const {
  Pieces pieces{std::move(text), {}, at_beginning};
  if (!pieces.text.empty()) {
    pieces.ranges.push_back({0, pieces.text.size()});
  }
  for (const PreTokenizerStep& step : steps_) {
    pieces = std::visit([&](const auto& s) { return apply(s, std::move(pieces)); }, step);
  }
  return pieces;
}

}  // namespace godwit
