#include "text/added_tokens.h"

#include <algorithm>

#include "text/hugging_face_characters.h"
#include "text/utf8.h"

namespace godwit {
namespace {

constexpr std::size_t kMaxTotalBytes = std::size_t{1} << 24;

/// Reads the character that ends before `end` of well-formed text.
char32_t code_point_before(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while ((static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80) {
    --begin;
  }
  return next_code_point(text, begin);
}

}  // namespace

Result<AddedTokens> AddedTokens::create(std::vector<AddedToken> tokens,
                                        const Normalizer& normalizer) {
  AddedTokens result;
  result.word_ = word_characters();
  result.space_ = *unicode_class("s");
  result.tokens_ = std::move(tokens);
  std::size_t total_bytes = 0;
  for (std::size_t i = 0; i < result.tokens_.size(); ++i) {
    const AddedToken& token = result.tokens_[i];
    if (token.content.empty()) {
      return invalid_argument("added token " + std::to_string(token.id) + " is empty");
    }
    if (!result.by_content_.emplace(token.content, i).second) {
      return invalid_argument("added token '" + token.content + "' is listed twice");
    }
    if (!result.by_id_.emplace(token.id, i).second) {
      return invalid_argument("two added tokens have the id " + std::to_string(token.id) +
                              ", one is '" + token.content + "'");
    }
    const std::string text = token.normalized ? normalizer.normalize(token.content) : token.content;
    total_bytes += text.size();
    if (total_bytes > kMaxTotalBytes) {
      return invalid_argument("the added tokens have more than 16 MiB of text");
    }
    result.tries_[token.normalized ? 1 : 0].add(text, static_cast<std::int32_t>(i));
  }
  return result;
}

std::vector<AddedTokenPart> AddedTokens::split(std::string_view text, bool normalized,
                                               bool split_special) const {
  const TokenTrie& trie = tries_[normalized ? 1 : 0];
  const auto is_word = [&](char32_t c) { return word_.contains(c); };
  const auto is_space = [&](char32_t c) { return space_.contains(c); };
  std::vector<AddedTokenPart> parts;
  std::size_t done = 0;  // the text before this is in `parts`
  for (std::size_t at = 0; (at = trie.next_candidate(text, at)) < text.size();) {
    const std::optional<TokenTrie::Found> found = trie.longest_at(text, at);
    if (!found) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(found->value)];
    std::size_t begin = at;
    std::size_t end = at + found->length;
    at = end;
    if (split_special && token.special) {
      continue;
    }
    std::size_t after = end;
    if (token.single_word && ((begin > 0 && is_word(code_point_before(text, begin))) ||
                              (end < text.size() && is_word(next_code_point(text, after))))) {
      continue;
    }
    if (token.lstrip) {
      while (begin > done && is_space(code_point_before(text, begin))) {
        begin -= 1;
        while ((static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80) {
          --begin;
        }
      }
    }
    if (token.rstrip) {
      for (std::size_t next = end; next < text.size();) {
        if (!is_space(next_code_point(text, next))) {
          break;
        }
        end = next;
      }
    }
    if (begin > done) {
      parts.push_back({{done, begin}, nullptr});
    }
    parts.push_back({{begin, end}, &token});
    done = end;
  }
  if (done < text.size()) {
    parts.push_back({{done, text.size()}, nullptr});
  }
  return parts;
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::find(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

}  // namespace godwit
