// Tokenizer::from_gguf, and its byte-level BPE vocabularies (the others are in
// tokenizer_gguf_kinds.cc). A GGUF file has no pipeline; it names the
// split rule (tokenizer.ggml.pre), and the table here says which steps that is in tokenizer.json's
// terms.

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "text/byte_level.h"
#include "text/hugging_face_characters.h"
#include "text/split_rules.h"
#include "text/tokenizer.h"
#include "text/tokenizer_gguf_kinds.h"
#include "text/tokenizer_parts.h"

namespace godwit {
namespace {

/// How digits are split off before GPT-2's pattern, or which patterns take its place.
enum class Rule { kGpt2, kDigitsThenGpt2, kFalcon, kPatterns };

struct PreRow {
  std::string_view name;
  Rule rule;
  std::array<std::string_view, 6> patterns;  ///< For kPatterns, up to the first empty one.
  bool compose;                              ///< The model's tokenizer applies NFC.
  bool ignore_merges;                        ///< As BpeOptions.
  bool add_bos;                              ///< Where the file does not say.
};

constexpr std::array kRows = {
    PreRow{"gpt-2", Rule::kGpt2, {}, false, false, false},
    PreRow{"phi-2", Rule::kGpt2, {}, false, false, false},
    PreRow{"starcoder", Rule::kDigitsThenGpt2, {}, false, false, false},
    PreRow{"refact", Rule::kDigitsThenGpt2, {}, false, false, false},
    PreRow{"command-r", Rule::kDigitsThenGpt2, {}, true, false, false},
    PreRow{"mpt", Rule::kGpt2, {}, true, false, false},
    PreRow{"smollm", Rule::kDigitsThenGpt2, {}, false, false, false},
    PreRow{"falcon", Rule::kFalcon, {}, false, false, false},
    PreRow{"llama-bpe", Rule::kPatterns, {kCl100kPattern}, false, true, true},
    PreRow{"qwen2", Rule::kPatterns, {kQwen2Pattern}, true, false, false},
    PreRow{"gpt-4o", Rule::kPatterns, {kO200kPattern}, false, true, false},
    PreRow{"tekken", Rule::kPatterns, {kTekkenPattern}, false, true, true},
    PreRow{"deepseek-coder",
           Rule::kPatterns,
           {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kCjkPattern, R"(\p{N})"},
           false,
           false,
           false},
    PreRow{"deepseek-v3",
           Rule::kPatterns,
           {R"(\p{N}{1,3})", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", kDeepseekV3Pattern},
           false,
           false,
           false},
    PreRow{"deepseek-llm",
           Rule::kPatterns,
           {R"([\r\n])", kDeepseekLlmLetters, kDeepseekLlmPunctuation, R"(\s+$)", kCjkPattern,
            R"(\p{N}+)"},
           false,
           false,
           false},
    PreRow{"default",
           Rule::kPatterns,
           {R"([\p{P}$+<=>^~|]+)", kGpt2Pattern, R"(\p{N}+)", "[0-9][0-9][0-9]"},
           false,
           false,
           false},
    PreRow{"dbrx", Rule::kPatterns, {kCl100kPattern}, false, false, false},
    PreRow{"stablelm2", Rule::kPatterns, {kQwen2Pattern}, false, false, false},
    PreRow{"seed-coder", Rule::kPatterns, {kSeedPattern}, false, false, false},
    PreRow{"qwen35", Rule::kPatterns, {kQwen35Pattern}, false, false, false},
    PreRow{"glm4", Rule::kPatterns, {kCl100kPattern}, false, true, false},
    PreRow{"bloom", Rule::kPatterns, {kBloomPattern}, false, false, false},
    PreRow{"viking", Rule::kPatterns, {kBloomPattern, R"(\p{N})"}, false, false, false},
};

/// Further names of these rules.
struct PreAlias {
  std::string_view name;
  std::string_view row;
};

constexpr std::array kAliases = {
    PreAlias{"", "default"},
    PreAlias{"llama3", "llama-bpe"},
    PreAlias{"llama-v3", "llama-bpe"},
    PreAlias{"falcon3", "llama-bpe"},
    PreAlias{"falcon-h1", "llama-bpe"},
    PreAlias{"pixtral", "llama-bpe"},
    PreAlias{"lfm2", "llama-bpe"},
    PreAlias{"olmo", "gpt-2"},
    PreAlias{"jais", "gpt-2"},
    PreAlias{"exaone4", "gpt-2"},
    PreAlias{"trillion", "gpt-2"},
    PreAlias{"granite-docling", "gpt-2"},
    PreAlias{"gigachat", "gpt-2"},
    PreAlias{"a.x-4.0", "gpt-2"},
    PreAlias{"mellum", "gpt-2"},
    PreAlias{"codeshell", "starcoder"},
    PreAlias{"exaone", "starcoder"},
    PreAlias{"minerva-7b", "starcoder"},
    PreAlias{"smaug-bpe", "dbrx"},
    PreAlias{"chatglm-bpe", "dbrx"},
    PreAlias{"megrez", "stablelm2"},
    PreAlias{"hunyuan", "stablelm2"},
    PreAlias{"bailingmoe", "stablelm2"},
    PreAlias{"deepseek-r1-qwen", "qwen2"},
    PreAlias{"hunyuan-dense", "deepseek-v3"},
    PreAlias{"poro-chat", "bloom"},
    PreAlias{"gpt3-finnish", "bloom"},
};

const PreRow* find_row(std::string_view name) {
  const auto* alias = std::find_if(kAliases.begin(), kAliases.end(),
                                   [&](const PreAlias& each) { return each.name == name; });
  const std::string_view wanted = alias == kAliases.end() ? name : alias->row;
  const auto* row = std::find_if(kRows.begin(), kRows.end(),
                                 [&](const PreRow& each) { return each.name == wanted; });
  return row == kRows.end() ? nullptr : row;
}

// Values of tokenizer.ggml.token_type.
constexpr std::int32_t kTypeUnknown = 2;
constexpr std::int32_t kTypeControl = 3;
constexpr std::int32_t kTypeUserDefined = 4;

Result<PreTokenizer> make_pre_tokenizer(const PreRow& row) {
  std::vector<PreTokenizerStep> steps;
  ByteLevelStep byte_level{false, {}};
  if (row.rule != Rule::kPatterns) {
    byte_level.split.push_back(
        {TRY(SplitPattern::create(kGpt2Pattern)), SplitBehavior::kIsolated, false});
  }
  switch (row.rule) {
    case Rule::kGpt2:
      steps.emplace_back(std::move(byte_level));
      break;
    case Rule::kDigitsThenGpt2:
      steps.emplace_back(CharacterSplitStep{digit_characters(), SplitBehavior::kIsolated});
      steps.emplace_back(std::move(byte_level));
      break;
    case Rule::kFalcon:
      steps.emplace_back(CharacterSplitStep{punctuation_characters(), SplitBehavior::kContiguous});
      steps.emplace_back(std::move(byte_level));
      steps.emplace_back(CharacterSplitStep{digit_characters(), SplitBehavior::kContiguous});
      steps.emplace_back(
          SplitStep{TRY(SplitPattern::create("[0-9][0-9][0-9]")), SplitBehavior::kIsolated, false});
      break;
    case Rule::kPatterns:
      for (const std::string_view pattern : row.patterns) {
        if (!pattern.empty()) {
          steps.emplace_back(
              SplitStep{TRY(SplitPattern::create(pattern)), SplitBehavior::kIsolated, false});
        }
      }
      steps.emplace_back(std::move(byte_level));
      break;
  }
  return PreTokenizer(std::move(steps));
}

Result<Vocabulary> make_vocabulary(const GgufVocabulary& gguf) {
  TRY(check_gguf_sizes(gguf));
  std::size_t total_bytes = 0;
  for (const std::string_view token : gguf.tokens) {
    total_bytes += token.size();
  }
  Vocabulary vocabulary;
  vocabulary.reserve(gguf.tokens.size(), total_bytes);
  for (std::size_t i = 0; i < gguf.tokens.size(); ++i) {
    if (vocabulary.add(gguf.tokens[i], static_cast<TokenId>(i)) != Vocabulary::Added::kYes) {
      return bad_gguf_field("tokens", "has '" + std::string(gguf.tokens[i]) + "' twice");
    }
  }
  return vocabulary;
}

Status add_merges(const GgufVocabulary& gguf, BpeModel& model) {
  model.reserve_merges(gguf.merges.size());
  std::string merged_text;
  for (std::size_t i = 0; i < gguf.merges.size(); ++i) {
    const std::string_view merge = gguf.merges[i];
    const auto place = [&] { return "merges[" + std::to_string(i) + "]"; };
    // No byte-level token has a space; the search starts at 1 so that neither half is empty.
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos) {
      return bad_gguf_field(place(), "must be two tokens");
    }
    const std::optional<TokenId> left = model.vocabulary().find(merge.substr(0, space));
    const std::optional<TokenId> right = model.vocabulary().find(merge.substr(space + 1));
    merged_text = merge.substr(0, space);
    merged_text += merge.substr(space + 1);
    const std::optional<TokenId> merged = model.vocabulary().find(merged_text);
    if (!left || !right || !merged) {
      return bad_gguf_field(place(), "joins '" + std::string(merge) +
                                         "', for which tokenizer.ggml.tokens lacks a token");
    }
    model.add_merge(*left, *right, *merged, static_cast<std::uint32_t>(i));
  }
  return {};
}

Result<AddedTokens> make_added_tokens(const GgufVocabulary& gguf) {
  std::vector<AddedToken> added;
  for (std::size_t i = 0; i < gguf.token_types.size(); ++i) {
    const std::int32_t type = gguf.token_types[i];
    if (type == kTypeControl || type == kTypeUnknown || type == kTypeUserDefined) {
      AddedToken token;
      token.id = static_cast<TokenId>(i);
      token.content = gguf.tokens[i];
      token.special = type != kTypeUserDefined;
      added.push_back(std::move(token));
    }
  }
  return AddedTokens::create(std::move(added), Normalizer());
}

/// Puts the beginning and end tokens around a text, as far as the file wants them.
Result<PostProcessor> make_post_processor(const GgufVocabulary& gguf, bool add_bos,
                                          const std::optional<TokenId>& bos,
                                          const std::optional<TokenId>& eos) {
  const bool add_eos = gguf.add_eos.value_or(false);
  if (add_bos && !bos) {
    return bad_gguf_field("add_bos_token", "is set, and tokenizer.ggml.bos_token_id is missing");
  }
  if (add_eos && !eos) {
    return bad_gguf_field("add_eos_token", "is set, and tokenizer.ggml.eos_token_id is missing");
  }
  return surround(add_bos ? bos : std::nullopt, add_eos ? eos : std::nullopt);
}

}  // namespace

Result<Tokenizer> Tokenizer::from_gguf(const GgufVocabulary& gguf) {
  if (gguf.model == "llama" || gguf.model == "t5") {
    return sentencepiece_from_gguf(gguf, gguf.model == "t5");
  }
  if (gguf.model == "bert") {
    return bert_from_gguf(gguf);
  }
  if (gguf.model != "gpt2") {
    return unimplemented("GGUF: tokenizer.ggml.model '" + gguf.model + "' is not supported");
  }
  const PreRow* row = find_row(gguf.pre);
  if (row == nullptr) {
    return unimplemented("GGUF: tokenizer.ggml.pre '" + gguf.pre + "' is not supported",
                         "use a folder with the model's tokenizer.json");
  }
  PreTokenizer pre_tokenizer = TRY(make_pre_tokenizer(*row));
  BpeOptions options;
  options.ignore_merges = row->ignore_merges;
  BpeModel model(TRY(make_vocabulary(gguf)), std::move(options));
  TRY(add_merges(gguf, model));
  AddedTokens added_tokens = TRY(make_added_tokens(gguf));
  const std::optional<TokenId> bos = TRY(checked_gguf_id(gguf.bos_id, "bos_token_id", gguf));
  const std::optional<TokenId> eos = TRY(checked_gguf_id(gguf.eos_id, "eos_token_id", gguf));
  PostProcessor post_processor =
      TRY(make_post_processor(gguf, gguf.add_bos.value_or(row->add_bos && bos), bos, eos));
  std::vector<NormalizerStep> normalizer;
  if (row->compose) {
    normalizer.emplace_back(UnicodeStep{false, true});
  }
  return Tokenizer(std::make_unique<const TokenizerParts>(TokenizerParts{
      .added_tokens = std::move(added_tokens),
      .normalizer = Normalizer(std::move(normalizer)),
      .pre_tokenizer = std::move(pre_tokenizer),
      .model = std::move(model),
      .post_processor = std::move(post_processor),
      .decoder = TokenDecoder(ByteLevelDecoder()),
      .bos_id = bos,
      .eos_id = eos,
  }));
}

}  // namespace godwit
