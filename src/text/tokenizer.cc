#include "text/tokenizer.h"

#include <algorithm>

#include "text/byte_level.h"
#include "text/tokenizer_parts.h"
#include "text/utf8.h"
#include "text/word_cache.h"

namespace godwit {
namespace {

const Vocabulary& vocabulary_of(const TokenizerParts& parts) {
  return std::visit([](const auto& model) -> const Vocabulary& { return model.vocabulary(); },
                    parts.model);
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {
  vocab_size_ = vocabulary_of(*parts_).size();
  for (const AddedToken& token : parts_->added_tokens.all()) {
    vocab_size_ = std::max(vocab_size_, token.id + 1);
  }
  special_.resize(static_cast<std::size_t>(vocab_size_));
  for (const AddedToken& token : parts_->added_tokens.all()) {
    special_[static_cast<std::size_t>(token.id)] = token.special;
  }
}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

struct Tokenizer::Encoding {
  std::vector<TokenId>& out;
  bool split_special;
  WordCache words;
  std::string written = {};  // a word in byte characters
};

void Tokenizer::append_plain(Encoding& to, std::string_view text, bool at_beginning) const {
  const Pieces pieces = parts_->pre_tokenizer.split(std::string(text), at_beginning);
  const bool write = parts_->pre_tokenizer.leaves_bytes();
  std::visit(
      [&](const auto& model) {
        const auto encode = [&](std::string_view word, std::vector<TokenId>& out) {
          if (write) {
            to.written.clear();
            append_byte_level(to.written, word);
            word = to.written;
          }
          model.encode(word, out);
        };
        for (const ByteRange& range : pieces.ranges) {
          const auto piece =
              std::string_view(pieces.text).substr(range.begin, range.end - range.begin);
          for (std::size_t begin = 0; begin < piece.size();) {
            const std::size_t end = model.next_cut(piece, begin);
            to.words.append(piece.substr(begin, end - begin), to.out, encode);
            begin = end;
          }
        }
      },
      parts_->model);
}

void Tokenizer::append_normalized(Encoding& to, std::string_view text, bool at_beginning) const {
  for (const AddedTokenPart& part : parts_->added_tokens.split(text, true, to.split_special)) {
    if (part.token != nullptr) {
      to.out.push_back(part.token->id);
    } else {
      append_plain(to, text.substr(part.range.begin, part.range.end - part.range.begin),
                   at_beginning && part.range.begin == 0);
    }
  }
}

void Tokenizer::append_text(Encoding& to, std::string_view text) const {
  std::string repaired;
  if (!is_well_formed_utf8(text)) {
    append_well_formed(repaired, text);
    text = repaired;
  }
  for (const AddedTokenPart& part : parts_->added_tokens.split(text, false, to.split_special)) {
    const std::string_view piece = text.substr(part.range.begin, part.range.end - part.range.begin);
    if (part.token != nullptr) {
      to.out.push_back(part.token->id);
    } else if (parts_->normalizer.empty()) {
      append_normalized(to, piece, part.range.begin == 0);
    } else {
      append_normalized(to, parts_->normalizer.normalize(piece), part.range.begin == 0);
    }
  }
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  Encoding to{ids, options.split_special_tokens, WordCache(text.size())};
  for (const TemplatePart& part : parts_->post_processor.single) {
    if (part.kind == TemplatePart::Kind::kFirst) {
      append_text(to, text);
    } else if (options.add_special_tokens) {
      ids.insert(ids.end(), part.tokens.begin(), part.tokens.end());
    }
  }
  return ids;
}

EncodedPair Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                   const EncodeOptions& options) const {
  EncodedPair result;
  Encoding to{result.ids, options.split_special_tokens, WordCache(first.size() + second.size())};
  for (const TemplatePart& part : parts_->post_processor.pair) {
    if (part.kind != TemplatePart::Kind::kTokens) {
      append_text(to, part.kind == TemplatePart::Kind::kFirst ? first : second);
    } else if (options.add_special_tokens) {
      result.ids.insert(result.ids.end(), part.tokens.begin(), part.tokens.end());
    }
    result.type_ids.resize(result.ids.size(), part.type_id);
  }
  return result;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special_tokens) const {
  const auto skipped = [&](TokenId id) { return skip_special_tokens && is_special(id); };
  if (!bytewise()) {
    std::vector<std::string> tokens;
    tokens.reserve(ids.size());
    for (const TokenId id : ids) {
      const std::optional<std::string_view> token = skipped(id) ? std::nullopt : id_to_token(id);
      if (token) {
        tokens.emplace_back(*token);
      }
    }
    return parts_->decoder.decode(std::move(tokens));
  }
  std::string bytes;
  for (const TokenId id : ids) {
    if (!skipped(id)) {
      append_token_bytes(bytes, id);
    }
  }
  if (is_well_formed_utf8(bytes)) {
    return bytes;
  }
  std::string text;
  append_well_formed(text, bytes);
  return text;
}

bool Tokenizer::bytewise() const {
  return parts_->decoder.bytewise();
}

TokenDecoder::ByteRuns Tokenizer::byte_runs() const {
  return parts_->decoder.byte_runs();
}

std::optional<std::string_view> Tokenizer::id_to_token(TokenId id) const {
  const AddedToken* const added = parts_->added_tokens.find(id);
  return added != nullptr ? std::string_view(added->content) : vocabulary_of(*parts_).token(id);
}

void Tokenizer::append_token_bytes(std::string& out, TokenId id) const {
  if (const std::optional<std::string_view> token = id_to_token(id)) {
    parts_->decoder.append_bytes(out, *token);
  }
}

std::string Tokenizer::token_bytes(TokenId id) const {
  std::string bytes;
  append_token_bytes(bytes, id);
  return bytes;
}

std::optional<TokenId> Tokenizer::token_to_id(std::string_view token) const {
  if (const AddedToken* const added = parts_->added_tokens.find(token)) {
    return added->id;
  }
  return vocabulary_of(*parts_).find(token);
}

bool Tokenizer::is_special(TokenId id) const {
  return id >= 0 && id < vocab_size_ && special_[static_cast<std::size_t>(id)];
}

std::optional<TokenId> Tokenizer::bos_id() const {
  return parts_->bos_id;
}
std::optional<TokenId> Tokenizer::eos_id() const {
  return parts_->eos_id;
}

}  // namespace godwit
