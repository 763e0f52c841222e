#pragma once
// The stages of a tokenizer, in the order in which a text passes them. The readers of the different
// formats fill this; Tokenizer runs it. Only tokenizer*.cc include it.

#include <optional>
#include <variant>

#include "text/added_tokens.h"
#include "text/bpe_model.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"
#include "text/token_decoder.h"
#include "text/unigram_model.h"
#include "text/word_piece_model.h"

namespace godwit {

using TokenModel = std::variant<BpeModel, UnigramModel, WordPieceModel>;

struct TokenizerParts {
  AddedTokens added_tokens;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  TokenModel model;
  PostProcessor post_processor;
  TokenDecoder decoder;
  std::optional<TokenId> bos_id;
  std::optional<TokenId> eos_id;
};

/// BERT's tokens with a role of their own.
struct BertTokens {
  TokenId unknown;
  TokenId begin;
  TokenId end;
};
/// BERT's pipeline around a vocabulary, in which tokens that begin inside a word begin with "##".
TokenizerParts bert_parts(Vocabulary vocabulary, AddedTokens added_tokens, const BertStep& rules,
                          const BertTokens& tokens);

}  // namespace godwit
