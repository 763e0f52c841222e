#include "text/token_decoder.h"

#include <array>
#include <utility>

#include "text/byte_level.h"
#include "text/byte_tokens.h"
#include "text/utf8.h"

namespace godwit {
namespace {

using Tokens = std::vector<std::string>;

std::string replace_all(std::string_view text, std::string_view what, std::string_view with) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, done)) {
    out.append(text.substr(done, at - done)).append(with);
    done = at + what.size();
  }
  return out.append(text.substr(done));
}

std::string join(const Tokens& tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    text += token;
  }
  return text;
}

Tokens apply_step(const ByteLevelDecoder& /*step*/, const Tokens& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) {
    append_byte_level_decoded(bytes, token);
  }
  std::string text;
  append_well_formed(text, bytes);
  return {std::move(text)};
}

Tokens apply_step(const ReplaceDecoder& step, Tokens tokens) {
  for (std::string& token : tokens) {
    token = replace_matches(step.step, token);
  }
  return tokens;
}

Tokens apply_step(const ByteFallbackDecoder& /*step*/, Tokens tokens) {
  Tokens result;
  std::string run;
  const auto finish_run = [&] {
    if (run.empty()) {
      return;
    }
    if (is_well_formed_utf8(run)) {
      result.push_back(run);
    } else {
      result.insert(result.end(), run.size(), std::string(kReplacementUtf8));
    }
    run.clear();
  };
  for (std::string& token : tokens) {
    if (const auto byte = byte_of_token(token)) {
      run.push_back(static_cast<char>(*byte));
    } else {
      finish_run();
      result.push_back(std::move(token));
    }
  }
  finish_run();
  return result;
}

Tokens apply_step(const FuseDecoder& /*step*/, const Tokens& tokens) {
  return {join(tokens)};
}

Tokens apply_step(const StripDecoder& step, Tokens tokens) {
  for (std::string& token : tokens) {
    std::size_t begin = 0;
    std::size_t end = token.size();
    const auto has = [&](std::size_t at) {
      return end - begin >= step.content.size() &&
             token.compare(at, step.content.size(), step.content) == 0;
    };
    for (std::size_t i = 0; i < step.start && has(begin); ++i) {
      begin += step.content.size();
    }
    for (std::size_t i = 0;
         i < step.stop && end - begin >= step.content.size() && has(end - step.content.size());
         ++i) {
      end -= step.content.size();
    }
    token = token.substr(begin, end - begin);
  }
  return tokens;
}

Tokens apply_step(const MetaspaceDecoder& step, Tokens tokens) {
  bool first = step.strip_first;
  for (std::string& token : tokens) {
    token = replace_all(token, step.replacement, first ? "" : " ");
    first = false;
  }
  return tokens;
}

std::string clean_up(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kRules = {{
      {" .", "."},
      {" ?", "?"},
      {" !", "!"},
      {" ,", ","},
      {" ' ", "'"},
      {" n't", "n't"},
      {" 'm", "'m"},
      {" do not", " don't"},
      {" 's", "'s"},
      {" 've", "'ve"},
      {" 're", "'re"},
  }};
  for (const auto& [what, with] : kRules) {
    text = replace_all(text, what, with);
  }
  return text;
}

Tokens apply_step(const WordPieceDecoder& step, Tokens tokens) {
  bool first = true;
  for (std::string& token : tokens) {
    if (!first) {
      token = token.starts_with(step.prefix) ? token.substr(step.prefix.size()) : " " + token;
    }
    first = false;
    token = step.cleanup ? clean_up(std::move(token)) : token;
  }
  return tokens;
}

/// Appends bytes; each one that is no part of a character becomes U+FFFD.
void append_characters(std::string& out, std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const Utf8Step step = decode_utf8(bytes, at);
    out.append(step.well_formed ? bytes.substr(at, step.length) : kReplacementUtf8);
    at += step.well_formed ? step.length : 1;
  }
}

Tokens apply_step(const SentencePieceDecoder& step, const Tokens& tokens) {
  std::string text;
  std::string run;
  bool stripping = step.strip_first || step.strip_spaces;
  for (const std::string& token : tokens) {
    if (const auto byte = byte_of_token(token)) {
      run.push_back(static_cast<char>(*byte));
      continue;
    }
    append_characters(text, run);
    run.clear();
    if (token == step.unknown) {
      text.append(step.unknown_text);
      continue;
    }
    std::string_view rest = token;
    if (stripping && text.empty() && rest.starts_with(kMetaspace)) {
      rest.remove_prefix(kMetaspace.size());
      stripping = step.strip_spaces;
    }
    text.append(replace_all(rest, kMetaspace, " "));
  }
  append_characters(text, run);
  return {std::move(text)};
}

}  // namespace

TokenDecoder::TokenDecoder(DecoderStep step)
    : TokenDecoder([&] {
        std::vector<DecoderStep> steps;
        steps.push_back(std::move(step));
        return steps;
      }()) {}

TokenDecoder::TokenDecoder(std::vector<DecoderStep> steps) : steps_(std::move(steps)) {
  bytewise_ = steps_.size() == 1 && std::holds_alternative<ByteLevelDecoder>(steps_[0]);
  for (const DecoderStep& step : steps_) {
    if (std::holds_alternative<ByteFallbackDecoder>(step)) {
      byte_runs_ = ByteRuns::kAllOrNothing;
    } else if (std::holds_alternative<SentencePieceDecoder>(step)) {
      byte_runs_ = ByteRuns::kByCharacter;
    }
  }
}

std::string TokenDecoder::decode(std::vector<std::string> tokens) const {
  if (steps_.empty()) {
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      text.append(i > 0 ? " " : "").append(tokens[i]);
    }
    return text;
  }
  for (const DecoderStep& step : steps_) {
    tokens = std::visit([&](const auto& s) { return apply_step(s, std::move(tokens)); }, step);
  }
  return join(tokens);
}

void TokenDecoder::append_bytes(std::string& out, std::string_view token) const {
  if (bytewise_) {
    append_byte_level_decoded(out, token);
    return;
  }
  const auto byte = byte_of_token(token);
  if (byte && byte_runs_ != ByteRuns::kNone) {
    out.push_back(static_cast<char>(*byte));
    return;
  }
  // What the token adds after another one.
  constexpr std::string_view kOther = "x";
  const std::string text = decode({std::string(kOther), std::string(token)});
  out.append(text.starts_with(kOther) ? std::string_view(text).substr(kOther.size()) : text);
}

}  // namespace godwit
