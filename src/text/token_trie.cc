#include "text/token_trie.h"

namespace godwit {

TokenTrie::TokenTrie() : values_(1, -1) {}

void TokenTrie::add(std::string_view text, std::int32_t value) {
  if (text.empty()) {
    return;
  }
  first_bytes_[static_cast<unsigned char>(text[0])] = true;
  std::uint32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const std::uint32_t* const next = edges_.find(node, byte);
    if (next != nullptr) {
      node = *next;
      continue;
    }
    const auto made = static_cast<std::uint32_t>(values_.size());
    values_.push_back(-1);
    edges_.set(node, byte, made);
    node = made;
  }
  if (values_[node] < 0) {
    values_[node] = value;
  }
}

std::optional<TokenTrie::Found> TokenTrie::longest_at(std::string_view text, std::size_t at) const {
  std::optional<Found> found;
  for_each_at(text, at,
              [&](std::size_t length, std::int32_t value) { found = Found{length, value}; });
  return found;
}

}  // namespace godwit
