// Tokenizer::from_tiktoken and from_tekken: tokens are bytes with a rank, and a pair is merged when
// the bytes of both are a token, lowest rank first.

#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "text/base64.h"
#include "text/byte_level.h"
#include "text/split_rules.h"
#include "text/tokenizer.h"
#include "text/tokenizer_config.h"
#include "text/tokenizer_fields.h"
#include "text/tokenizer_parts.h"

namespace godwit {
namespace {

/// A published vocabulary, known by the number of its ranks.
struct KnownRanks {
  std::int64_t count;
  std::string_view pattern;
  std::string_view reserved;  ///< Added tokens without a name are called so, and their id.
  std::int64_t reserved_count;
};

constexpr std::array kKnownRanks = {
    KnownRanks{50256, kGpt2Pattern, {}, 0},     // r50k
    KnownRanks{100256, kCl100kPattern, {}, 0},  // cl100k
    KnownRanks{128000, kCl100kPattern, {}, 0},  // Llama 3
    KnownRanks{151643, kQwen2Pattern, {}, 0},   // Qwen
    KnownRanks{163584, kKimiPattern, "<|reserved_token_", 256},
    KnownRanks{199998, kO200kPattern, {}, 0},  // o200k
};

Status bad(std::string_view file, std::string_view what) {
  return invalid_argument(std::string(file) + ": " + std::string(what),
                          "check that the file is complete and unchanged");
}

/// A vocabulary in the making; errors name `file`.
class RankedVocabulary {
 public:
  explicit RankedVocabulary(std::string_view file) : file_(file) {}

  /// Adds a token; its id is `rank` + `offset`.
  Status add(std::string_view base64, std::int64_t rank, std::int64_t offset,
             const std::string& place) {
    const std::optional<std::string> bytes = decode_base64(base64);
    if (!bytes || bytes->empty()) {
      return bad(file_, place + " has no token in base64");
    }
    if (rank < 0 || offset < 0 || offset >= kMaxVocabularySize ||
        rank >= kMaxVocabularySize - offset) {
      return bad(file_, place + " has the rank " + std::to_string(rank));
    }
    text_.clear();
    append_byte_level(text_, *bytes);
    const auto id = static_cast<TokenId>(rank + offset);
    if (vocabulary_.add(text_, id) != Vocabulary::Added::kYes) {
      return bad(file_, place + " repeats a token or a rank");
    }
    ranks_.resize(static_cast<std::size_t>(vocabulary_.size()), BpeModel::kNoRank);
    ranks_[static_cast<std::size_t>(id)] = static_cast<std::uint32_t>(rank);
    return {};
  }

  Result<Tokenizer> finish(std::string_view pattern, std::vector<AddedToken> added,
                           const Json* config) && {
    std::vector<PreTokenizerStep> steps;
    Result<SplitPattern> split = SplitPattern::create(pattern);
    if (!split.ok()) {
      return bad(file_, split.status().cause());
    }
    steps.emplace_back(SplitStep{std::move(split).value(), SplitBehavior::kIsolated, false});
    steps.emplace_back(ByteLevelStep{false, {}});
    BpeOptions options;
    options.ignore_merges = true;
    BpeModel model(std::move(vocabulary_), std::move(options));
    model.add_merges_by_rank(ranks_);
    std::vector<AddedToken> listed = TRY(config_added_tokens(config));
    for (AddedToken& token : listed) {
      token.special = true;  // tiktoken knows no other added tokens
    }
    Result<AddedTokens> tokens =
        AddedTokens::create(merge_added_tokens(std::move(added), std::move(listed)), Normalizer());
    if (!tokens.ok()) {
      return bad(file_, tokens.status().cause());
    }
    const auto bos = TRY(named_token(config, "bos_token", model.vocabulary(), *tokens));
    const auto eos = TRY(named_token(config, "eos_token", model.vocabulary(), *tokens));
    const bool add_bos = TRY(config_switch(config, "add_bos_token")).value_or(false);
    const bool add_eos = TRY(config_switch(config, "add_eos_token")).value_or(false);
    return Tokenizer(std::make_unique<const TokenizerParts>(TokenizerParts{
        .added_tokens = std::move(tokens).value(),
        .normalizer = Normalizer(),
        .pre_tokenizer = PreTokenizer(std::move(steps)),
        .model = std::move(model),
        .post_processor = surround(add_bos ? bos : std::nullopt, add_eos ? eos : std::nullopt),
        .decoder = TokenDecoder(ByteLevelDecoder()),
        .bos_id = bos,
        .eos_id = eos,
    }));
  }

 private:
  std::string file_;
  Vocabulary vocabulary_;
  std::vector<std::uint32_t> ranks_;  // by id
  std::string text_;
};

AddedToken special_token(std::int64_t id, std::string content) {
  AddedToken token;
  token.id = static_cast<TokenId>(id);
  token.content = std::move(content);
  token.special = true;
  return token;
}

/// The special tokens of tekken.json, by rank; those without an entry are "<SPECIAL_n>".
Result<std::vector<AddedToken>> tekken_specials(const TokenizerField& field, std::int64_t count) {
  std::vector<std::string> names(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = "<SPECIAL_" + std::to_string(i) + ">";
  }
  if (!field.absent()) {
    const std::size_t listed = TRY(field.to_array())->size();
    for (std::size_t i = 0; i < listed; ++i) {
      const TokenizerField entry = field.element(i);
      const TokenId rank = TRY(entry["rank"].to_token_id());
      if (rank >= count) {
        return entry["rank"].wrong("is " + std::to_string(rank) + ", and there are " +
                                   std::to_string(count) + " special tokens");
      }
      names[static_cast<std::size_t>(rank)] = TRY(entry["token_str"].to_string());
    }
  }
  std::vector<AddedToken> tokens;
  for (std::size_t i = 0; i < names.size(); ++i) {
    tokens.push_back(special_token(static_cast<std::int64_t>(i), std::move(names[i])));
  }
  return tokens;
}

}  // namespace

Result<Tokenizer> Tokenizer::from_tiktoken(std::string_view text, const Json* config) {
  constexpr std::string_view kFile = "tiktoken.model";
  RankedVocabulary vocabulary(kFile);
  std::int64_t count = 0;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) {
      continue;
    }
    const std::string place = "line " + std::to_string(number);
    const std::size_t space = line.find(' ');
    std::int64_t rank = -1;
    if (space != std::string_view::npos) {
      std::from_chars(line.data() + space + 1, line.data() + line.size(), rank);
    }
    TRY(vocabulary.add(line.substr(0, space), rank, 0, place));
    ++count;
  }
  const KnownRanks* known = nullptr;
  for (const KnownRanks& row : kKnownRanks) {
    known = row.count == count ? &row : known;
  }
  if (known == nullptr) {
    return unimplemented(std::string(kFile) + ": a vocabulary of " + std::to_string(count) +
                             " ranks, for which no split rule is known, is not supported",
                         "use a folder with the model's tokenizer.json");
  }
  std::vector<AddedToken> reserved;
  for (std::int64_t id = count; id < count + known->reserved_count; ++id) {
    reserved.push_back(special_token(id, std::string(known->reserved) + std::to_string(id) + "|>"));
  }
  return std::move(vocabulary).finish(known->pattern, std::move(reserved), config);
}

Result<Tokenizer> Tokenizer::from_tekken(const Json& tekken, const Json* config) {
  const TokenizerField root{tekken, "", "tekken.json"};
  const TokenizerField settings = root["config"];
  TRY(settings.to_object());
  const std::string pattern = TRY(settings["pattern"].to_string());
  const std::int64_t size = TRY(settings["default_vocab_size"].to_token_id());
  const std::int64_t specials = TRY(settings["default_num_special_tokens"].to_token_id());
  constexpr std::int64_t kMostSpecials = 1 << 16;
  if (specials > kMostSpecials) {
    return settings["default_num_special_tokens"].wrong("is " + std::to_string(specials) +
                                                        ", too many");
  }
  if (specials > size) {
    return settings["default_vocab_size"].wrong("is less than default_num_special_tokens");
  }
  RankedVocabulary vocabulary("tekken.json");
  const TokenizerField entries = root["vocab"];
  const std::size_t count = TRY(entries.to_array())->size();
  for (std::size_t i = 0; i < count; ++i) {
    const TokenizerField entry = entries.element(i);
    const TokenId rank = TRY(entry["rank"].to_token_id());
    if (rank >= size - specials) {
      continue;  // the file may hold more than the model uses
    }
    const std::string bytes = TRY(entry["token_bytes"].to_string());
    TRY(vocabulary.add(bytes, rank, specials, entry.path));
  }
  return std::move(vocabulary)
      .finish(pattern, TRY(tekken_specials(root["special_tokens"], specials)), config);
}

}  // namespace godwit
