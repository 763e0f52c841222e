#pragma once
// What a GGUF file's metadata says about text, handed from weights/ to text/, which do not know
// each other.

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "text/chat_template.h"
#include "text/gguf_vocabulary.h"
#include "weights/gguf.h"

namespace godwit {

/// The keys tokenizer.ggml.*. The strings are views of the file's mapping.
/// Errors: kNotFound or kInvalidArgument naming the key.
Result<GgufVocabulary> gguf_vocabulary(const GgufFile& file);

/// tokenizer.chat_template, when there is one.
Result<std::optional<std::string>> gguf_chat_template(const GgufFile& file);

/// bos_token and eos_token, for the chat template.
SpecialTokens gguf_special_tokens(const GgufFile& file);

/// The end-of-sequence and end-of-turn ids.
std::vector<TokenId> gguf_eos_ids(const GgufFile& file);

}  // namespace godwit
