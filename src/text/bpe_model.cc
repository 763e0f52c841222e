#include "text/bpe_model.h"

#include <algorithm>
#include <queue>

#include "text/normalizer.h"
#include "text/utf8.h"

namespace godwit {
namespace {

/// Up to this many tokens, looking at every pair each time beats a heap.
constexpr std::size_t kShortWord = 48;

}  // namespace

BpeModel::BpeModel(Vocabulary vocabulary, BpeOptions options)
    : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {
  for (std::size_t c = 0; c < character_tokens_.size(); ++c) {
    std::string text;
    append_utf8(text, static_cast<char32_t>(c));
    character_tokens_[c] = vocabulary_.find(text).value_or(-1);
  }
  cuts_at_spaces_ = vocabulary_.find(kMetaspace) && !options_.ignore_merges &&
                    options_.continuing_prefix.empty() && options_.end_of_word_suffix.empty();
  if (options_.byte_fallback) {
    byte_tokens_ = ByteTokens(vocabulary_);
  }
}

void BpeModel::reserve_merges(std::size_t count) {
  merges_.reserve(count);
}

namespace {

/// The first kMetaspace after `begin` that comes after another character, or npos.
std::size_t find_word_end(std::string_view text, std::size_t begin) {
  std::size_t at = text.find(kMetaspace, begin + 1);
  while (at != std::string_view::npos && text.substr(begin, at - begin).ends_with(kMetaspace)) {
    at = text.find(kMetaspace, at + 1);
  }
  return at;
}

}  // namespace

std::size_t BpeModel::next_cut(std::string_view word, std::size_t begin) const {
  return cuts_at_spaces_ ? std::min(find_word_end(word, begin), word.size()) : word.size();
}

void BpeModel::add_merge(TokenId left, TokenId right, TokenId merged, std::uint32_t rank) {
  if (cuts_at_spaces_) {
    cuts_at_spaces_ = find_word_end(*vocabulary_.token(merged), 0) == std::string_view::npos;
  }
  merges_.set(static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right), {rank, merged});
}

void BpeModel::add_merges_by_rank(const std::vector<std::uint32_t>& ranks) {
  reserve_merges(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto merged = static_cast<TokenId>(i);
    const std::optional<std::string_view> token = vocabulary_.token(merged);
    // Splits of a text of n bytes cost n look-ups of n bytes; no real token is longer than this.
    constexpr std::size_t kLongest = 1024;
    if (ranks[i] == kNoRank || !token || token->empty() || token->size() > kLongest) {
      continue;
    }
    for (std::size_t at = utf8_length((*token)[0]); at < token->size();
         at += utf8_length((*token)[at])) {
      const std::optional<TokenId> left = vocabulary_.find(token->substr(0, at));
      const std::optional<TokenId> right = vocabulary_.find(token->substr(at));
      if (left && right) {
        add_merge(*left, *right, merged, ranks[i]);
      }
    }
  }
}

std::optional<TokenId> BpeModel::character_token(std::string_view word, std::size_t begin,
                                                 std::size_t end) const {
  const bool prefixed = begin > 0 && !options_.continuing_prefix.empty();
  const bool suffixed = end == word.size() && !options_.end_of_word_suffix.empty();
  const std::string_view character = word.substr(begin, end - begin);
  if (prefixed || suffixed) {
    std::string text = prefixed ? options_.continuing_prefix : std::string();
    text.append(character);
    if (suffixed) {
      text.append(options_.end_of_word_suffix);
    }
    return vocabulary_.find(text);
  }
  std::size_t at = begin;
  const char32_t c = next_code_point(word, at);
  if (c < character_tokens_.size()) {
    return character_tokens_[c] >= 0 ? std::optional(character_tokens_[c]) : std::nullopt;
  }
  return vocabulary_.find(character);
}

void BpeModel::first_tokens(std::string_view word, std::vector<TokenId>& tokens) const {
  bool last_unknown = false;
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t end = begin + utf8_length(word[begin]);
    const std::optional<TokenId> token = character_token(word, begin, end);
    if (token) {
      tokens.push_back(*token);
    } else if (options_.byte_fallback &&
               byte_tokens_.append(word.substr(begin, end - begin), tokens)) {
      begin = end;
      continue;
    } else if (options_.unknown && !(last_unknown && options_.fuse_unknown)) {
      tokens.push_back(*options_.unknown);
    }
    last_unknown = !token.has_value();
    begin = end;
  }
}

void BpeModel::encode(std::string_view word, std::vector<TokenId>& out) const {
  if (options_.ignore_merges) {
    if (const std::optional<TokenId> whole = vocabulary_.find(word)) {
      out.push_back(*whole);
      return;
    }
  }
  std::vector<TokenId> tokens;
  tokens.reserve(word.size());
  first_tokens(word, tokens);
  if (tokens.size() <= kShortWord) {
    merge_short(tokens);
  } else {
    merge_long(tokens);
  }
  out.insert(out.end(), tokens.begin(), tokens.end());
}

void BpeModel::merge_short(std::vector<TokenId>& tokens) const {
  constexpr Merge kNone{~std::uint32_t{0}, -1};
  std::array<Merge, kShortWord> merges;  // merges[i] joins tokens i and i + 1
  std::size_t count = tokens.size();
  const auto look_up = [&](std::size_t i) {
    const Merge* const merge = find_merge(tokens[i], tokens[i + 1]);
    merges[i] = merge != nullptr ? *merge : kNone;
  };
  for (std::size_t i = 0; i + 1 < count; ++i) {
    look_up(i);
  }
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) {
        best = i;
      }
    }
    if (merges[best].merged < 0) {
      break;
    }
    tokens[best] = merges[best].merged;
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      tokens[i] = tokens[i + 1];
      merges[i] = i + 2 < count ? merges[i + 1] : kNone;
    }
    --count;
    if (best > 0) {
      look_up(best - 1);
    }
    if (best + 1 < count) {
      look_up(best);
    }
  }
  tokens.resize(count);
}

void BpeModel::merge_long(std::vector<TokenId>& tokens) const {
  struct Link {
    std::int64_t previous;
    std::int64_t next;
  };
  struct Candidate {
    std::uint32_t rank;
    TokenId merged;
    std::int64_t at;
    bool operator<(const Candidate& other) const {  // the queue's top is the largest
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  const auto count = static_cast<std::int64_t>(tokens.size());
  const auto token = [&](std::int64_t i) -> TokenId& {
    return tokens[static_cast<std::size_t>(i)];
  };
  std::vector<Link> links(tokens.size());
  const auto link = [&](std::int64_t i) -> Link& { return links[static_cast<std::size_t>(i)]; };
  for (std::int64_t i = 0; i < count; ++i) {
    link(i) = {i - 1, i + 1 < count ? i + 1 : -1};
  }
  std::vector<Candidate> first;
  for (std::int64_t i = 0; i + 1 < count; ++i) {
    if (const Merge* const merge = find_merge(token(i), token(i + 1))) {
      first.push_back({merge->rank, merge->merged, i});
    }
  }
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(first));
  const auto enqueue = [&](std::int64_t left) {
    if (left < 0 || link(left).next < 0) {
      return;
    }
    if (const Merge* const merge = find_merge(token(left), token(link(left).next))) {
      queue.push({merge->rank, merge->merged, left});
    }
  };
  while (!queue.empty()) {
    const Candidate candidate = queue.top();
    queue.pop();
    const std::int64_t at = candidate.at;
    const std::int64_t right = link(at).next;
    // Either token may have been merged away since.
    if (token(at) < 0 || right < 0) {
      continue;
    }
    const Merge* const merge = find_merge(token(at), token(right));
    if (merge == nullptr || merge->rank != candidate.rank) {
      continue;
    }
    token(at) = merge->merged;
    token(right) = -1;
    const std::int64_t after = link(right).next;
    link(at).next = after;
    if (after >= 0) {
      link(after).previous = at;
    }
    enqueue(link(at).previous);
    enqueue(at);
  }
  std::erase(tokens, -1);
}

}  // namespace godwit
