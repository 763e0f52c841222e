#pragma once
// The kinds of vocabulary that GGUF files hold beside byte-level BPE, and what their readers share.

#include <optional>
#include <string_view>

#include "base/ids.h"
#include "base/status.h"
#include "text/gguf_vocabulary.h"
#include "text/tokenizer.h"

namespace godwit {

/// tokenizer.ggml.model "llama" (BPE by scores) or "t5" (Unigram): SentencePiece vocabularies.
Result<Tokenizer> sentencepiece_from_gguf(const GgufVocabulary& gguf, bool unigram);
/// tokenizer.ggml.model "bert": WordPiece.
Result<Tokenizer> bert_from_gguf(const GgufVocabulary& gguf);

/// "GGUF: tokenizer.ggml.<key> <what>".
Status bad_gguf_field(std::string_view key, std::string_view what);
/// Checks that an id, if there is one, is of a token.
Result<std::optional<TokenId>> checked_gguf_id(const std::optional<std::int64_t>& id,
                                               std::string_view key, const GgufVocabulary& gguf);
/// Checks the number of tokens and that there is a type for each, or none at all.
Status check_gguf_sizes(const GgufVocabulary& gguf);

}  // namespace godwit
