// Tokenizer::from_vocab_txt: BERT's original form, a token a line; the rest is BERT's by definition
// unless tokenizer_config.json changes it.

#include <array>
#include <string>
#include <utility>

#include "text/hugging_face_characters.h"
#include "text/tokenizer.h"
#include "text/tokenizer_config.h"
#include "text/tokenizer_parts.h"
#include "text/utf8.h"

namespace godwit {
namespace {

Status bad(std::string_view what) {
  return invalid_argument("vocab.txt: " + std::string(what),
                          "check that the file is complete and unchanged");
}

Result<Vocabulary> read_lines(std::string_view text) {
  Vocabulary vocabulary;
  for (TokenId id = 0; !text.empty(); ++id) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
    if (id >= kMaxVocabularySize || !is_well_formed_utf8(line)) {
      return bad(id >= kMaxVocabularySize ? std::string("there are too many lines")
                                          : "line " + std::to_string(id + 1) + " is no UTF-8");
    }
    if (vocabulary.add(line, id) != Vocabulary::Added::kYes) {
      return bad("line " + std::to_string(id + 1) + " repeats '" + std::string(line) + "'");
    }
  }
  return vocabulary;
}

}  // namespace

TokenizerParts bert_parts(Vocabulary vocabulary, AddedTokens added_tokens, const BertStep& rules,
                          const BertTokens& tokens) {
  std::vector<NormalizerStep> normalizer;
  normalizer.emplace_back(rules);
  std::vector<PreTokenizerStep> steps;
  steps.emplace_back(CharacterSplitStep{*unicode_class("s"), SplitBehavior::kRemoved});
  steps.emplace_back(CharacterSplitStep{punctuation_characters(), SplitBehavior::kIsolated});
  WordPieceOptions options;
  options.unknown = tokens.unknown;
  const std::string prefix = options.continuing_prefix;
  return {
      .added_tokens = std::move(added_tokens),
      .normalizer = Normalizer(std::move(normalizer)),
      .pre_tokenizer = PreTokenizer(std::move(steps)),
      .model = WordPieceModel(std::move(vocabulary), std::move(options)),
      .post_processor = bert_template(tokens.begin, tokens.end),
      .decoder = TokenDecoder(WordPieceDecoder{prefix, true}),
      .bos_id = std::nullopt,
      .eos_id = std::nullopt,
  };
}

Result<Tokenizer> Tokenizer::from_vocab_txt(std::string_view text, const Json* config) {
  Vocabulary vocabulary = TRY(read_lines(text));
  std::vector<AddedToken> added;
  const auto add_special = [&](std::string_view content) {
    const std::optional<TokenId> id = vocabulary.find(content);
    if (id) {
      AddedToken token;
      token.id = *id;
      token.content = content;
      token.special = true;
      added.push_back(std::move(token));
    }
    return id;
  };
  const std::optional<TokenId> unknown = add_special("[UNK]");
  const std::optional<TokenId> begin = add_special("[CLS]");
  const std::optional<TokenId> end = add_special("[SEP]");
  add_special("[PAD]");
  add_special("[MASK]");
  if (!unknown || !begin || !end) {
    return bad("one of the tokens [UNK], [CLS] and [SEP] is missing");
  }
  BertStep rules{true, true, true, true};
  rules.separate_ideographs = TRY(config_switch(config, "tokenize_chinese_chars")).value_or(true);
  rules.lowercase = TRY(config_switch(config, "do_lower_case")).value_or(true);
  rules.strip_accents = TRY(config_switch(config, "strip_accents")).value_or(rules.lowercase);
  std::vector<AddedToken> listed = TRY(config_added_tokens(config));
  AddedTokens added_tokens = TRY(
      AddedTokens::create(merge_added_tokens(std::move(added), std::move(listed)), Normalizer()));
  TokenizerParts parts =
      bert_parts(std::move(vocabulary), std::move(added_tokens), rules, {*unknown, *begin, *end});
  return Tokenizer(std::make_unique<const TokenizerParts>(std::move(parts)));
}

}  // namespace godwit
