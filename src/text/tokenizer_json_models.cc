#include "text/tokenizer_json_models.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace godwit {
namespace {

Result<Vocabulary> read_vocabulary(const TokenizerField& field) {
  const JsonObject& members = *TRY(field.to_object());
  std::size_t total_bytes = 0;
  for (const JsonMember& member : members) {
    total_bytes += member.first.size();
  }
  Vocabulary vocabulary;
  vocabulary.reserve(members.size(), total_bytes);
  for (const JsonMember& member : members) {
    const std::optional<std::int64_t> id = member.second.to_int64();
    if (!id || *id < 0 || *id >= kMaxVocabularySize) {
      const TokenizerField entry{member.second, field.path + "['" + member.first + "']"};
      return entry.to_token_id().status();
    }
    switch (vocabulary.add(member.first, static_cast<TokenId>(*id))) {
      case Vocabulary::Added::kYes:
        break;
      case Vocabulary::Added::kDuplicateId:
        return field.wrong("gives the id " + std::to_string(*id) + " to '" + member.first +
                           "' and to another token");
      case Vocabulary::Added::kDuplicateToken:
        return field.wrong("has the token '" + member.first + "' twice");
    }
  }
  return vocabulary;
}

/// The two halves of a merge: ["a", "b"], or "a b" in older files.
Result<std::pair<std::string_view, std::string_view>> read_halves(const Json& merge,
                                                                  const TokenizerField& field,
                                                                  std::size_t index) {
  if (merge.is_array() && merge.as_array().size() == 2 && merge.as_array()[0].is_string() &&
      merge.as_array()[1].is_string()) {
    return std::pair<std::string_view, std::string_view>(merge.as_array()[0].as_string(),
                                                         merge.as_array()[1].as_string());
  }
  if (merge.is_string()) {
    const std::string_view text = merge.as_string();
    const std::size_t space = text.find(' ');
    if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
      return std::pair(text.substr(0, space), text.substr(space + 1));
    }
  }
  return field.element(index).wrong("must be two tokens");
}

Status read_merges(const TokenizerField& field, BpeModel& model) {
  const JsonArray& merges = *TRY(field.to_array());
  const Vocabulary& vocabulary = model.vocabulary();
  const std::size_t prefix_size = model.options().continuing_prefix.size();
  model.reserve_merges(merges.size());
  std::string merged_text;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto [left_text, right_text] = TRY(read_halves(merges[i], field, i));
    const std::optional<TokenId> left = vocabulary.find(left_text);
    const std::optional<TokenId> right = vocabulary.find(right_text);
    merged_text = left_text;
    merged_text += right_text.substr(std::min(prefix_size, right_text.size()));
    const std::optional<TokenId> merged = vocabulary.find(merged_text);
    if (!left || !right || !merged) {
      const std::string_view missing = !left ? left_text : !right ? right_text : merged_text;
      return field.element(i).wrong("needs the token '" + std::string(missing) +
                                    "', which model.vocab lacks");
    }
    model.add_merge(*left, *right, *merged, static_cast<std::uint32_t>(i));
  }
  return {};
}

Result<TokenModel> read_bpe(const TokenizerField& field) {
  const TokenizerField dropout = field["dropout"];
  if (!dropout.absent() && !(dropout.value.is_number() && dropout.value.as_double() == 0)) {
    return dropout.unsupported("(random merges)");
  }
  Vocabulary vocabulary = TRY(read_vocabulary(field["vocab"]));
  BpeOptions options;
  const TokenizerField unknown = field["unk_token"];
  if (!unknown.absent()) {
    options.unknown = vocabulary.find(TRY(unknown.to_string()));
    if (!options.unknown) {
      return unknown.wrong("is no token of model.vocab");
    }
  }
  options.byte_fallback = TRY(field["byte_fallback"].to_bool(false));
  options.fuse_unknown = TRY(field["fuse_unk"].to_bool(false));
  options.ignore_merges = TRY(field["ignore_merges"].to_bool(false));
  options.continuing_prefix = TRY(field["continuing_subword_prefix"].to_string(""));
  options.end_of_word_suffix = TRY(field["end_of_word_suffix"].to_string(""));
  BpeModel model(std::move(vocabulary), std::move(options));
  TRY(read_merges(field["merges"], model));
  return TokenModel(std::move(model));
}

/// The score as Hugging Face's JSON reader has it: the digits as an integer, divided by a power of
/// ten. That can be off in the last bit, and such bits decide between sums that are equal on paper.
double score_as_read(double score) {
  std::array<char, 64> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), std::abs(score),
                                          std::chars_format::fixed);
  if (error != std::errc()) {
    return score;
  }
  std::string digits(text.data(), end);
  const std::size_t point = digits.find('.');
  const std::size_t decimals = point == std::string::npos ? 0 : digits.size() - point - 1;
  std::erase(digits, '.');
  constexpr std::size_t kMaxDigits = 19;    // of a 64-bit integer
  constexpr std::size_t kMaxDecimals = 22;  // so that the power of ten is exact
  if (digits.size() > kMaxDigits || decimals > kMaxDecimals) {
    return score;
  }
  std::uint64_t integer = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), integer);
  return std::copysign(static_cast<double>(integer) / std::pow(10.0, static_cast<double>(decimals)),
                       score);
}

/// Reads a list of [token, score]. A token's id is its place in it.
Result<TokenModel> read_unigram(const TokenizerField& field) {
  const TokenizerField list = field["vocab"];
  const JsonArray& entries = *TRY(list.to_array());
  if (entries.size() > static_cast<std::size_t>(kMaxVocabularySize)) {
    return list.wrong("has " + std::to_string(entries.size()) + " tokens, too many");
  }
  Vocabulary vocabulary;
  std::vector<UnigramPiece> pieces;
  double lowest = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Json& entry = entries[i];
    if (!entry.is_array() || entry.as_array().size() != 2 || !entry.as_array()[0].is_string() ||
        !entry.as_array()[1].is_number()) {
      return list.element(i).wrong("must be a token and its score");
    }
    const std::string& token = entry.as_array()[0].as_string();
    const auto id = static_cast<TokenId>(i);
    if (vocabulary.add(token, id) != Vocabulary::Added::kYes) {
      return list.element(i).wrong("repeats the token '" + token + "'");
    }
    pieces.push_back({id, score_as_read(entry.as_array()[1].as_double())});
    lowest = i == 0 ? pieces[i].score : std::min(lowest, pieces[i].score);
  }
  UnigramOptions options;
  options.unknown = TRY(field["unk_id"].to_token_id());
  if (options.unknown >= vocabulary.size()) {
    return field["unk_id"].wrong("is no token of model.vocab");
  }
  options.byte_fallback = TRY(field["byte_fallback"].to_bool(false));
  return TokenModel(
      UnigramModel(std::move(vocabulary), pieces, lowest - kUnigramUnknownPenalty, options));
}

Result<TokenModel> read_word_piece(const TokenizerField& field) {
  Vocabulary vocabulary = TRY(read_vocabulary(field["vocab"]));
  WordPieceOptions options;
  const std::optional<TokenId> unknown =
      vocabulary.find(TRY(field["unk_token"].to_string("[UNK]")));
  if (!unknown) {
    return field["unk_token"].wrong("is no token of model.vocab");
  }
  options.unknown = *unknown;
  options.continuing_prefix = TRY(field["continuing_subword_prefix"].to_string("##"));
  const TokenizerField longest = field["max_input_chars_per_word"];
  if (!longest.absent()) {
    const std::optional<std::int64_t> value = longest.value.to_int64();
    if (!value || *value < 0) {
      return longest.expected("a number of characters");
    }
    options.max_characters = static_cast<std::size_t>(*value);
  }
  return TokenModel(WordPieceModel(std::move(vocabulary), std::move(options)));
}

}  // namespace

Result<TokenModel> read_model(const TokenizerField& field) {
  TRY(field.to_object());
  const TokenizerField type = field["type"];
  // Files from before the field existed: BPE has merges, Unigram a list.
  const bool old_bpe = type.absent() && !field["merges"].absent();
  const bool old_unigram = type.absent() && field["vocab"].value.is_array();
  const std::string name = old_bpe ? "BPE" : old_unigram ? "Unigram" : TRY(type.to_string());
  if (name == "BPE") {
    return read_bpe(field);
  }
  if (name == "Unigram") {
    return read_unigram(field);
  }
  if (name == "WordPiece") {
    return read_word_piece(field);
  }
  return type.unsupported("'" + name + "'");
}

}  // namespace godwit
