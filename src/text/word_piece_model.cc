#include "text/word_piece_model.h"

#include <algorithm>

namespace godwit {

WordPieceModel::WordPieceModel(Vocabulary vocabulary, WordPieceOptions options)
    : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {
  const std::string_view prefix = options_.continuing_prefix;
  for (TokenId id = 0; id < vocabulary_.size(); ++id) {
    if (const auto token = vocabulary_.token(id)) {
      beginning_.add(*token, id);
      if (token->starts_with(prefix)) {
        continuing_.add(token->substr(prefix.size()), id);
      }
    }
  }
}

void WordPieceModel::encode(std::string_view word, std::vector<TokenId>& out) const {
  const auto characters =
      static_cast<std::size_t>(std::count_if(word.begin(), word.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80;
      }));
  const std::size_t before = out.size();
  bool known = characters <= options_.max_characters;
  for (std::size_t at = 0; known && at < word.size();) {
    const auto found = (at == 0 ? beginning_ : continuing_).longest_at(word, at);
    known = found.has_value();
    if (known) {
      out.push_back(found->value);
      at += found->length;
    }
  }
  if (!known) {
    out.resize(before);
    out.push_back(options_.unknown);
  }
}

}  // namespace godwit
