#pragma once
// Reads the stages of tokenizer.json that are sequences of steps. A null stage has no steps.

#include "base/status.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"
#include "text/token_decoder.h"
#include "text/tokenizer_fields.h"

namespace godwit {

Result<Normalizer> read_normalizer(const TokenizerField& field);
Result<PreTokenizer> read_pre_tokenizer(const TokenizerField& field);
/// A null decoder joins the tokens with spaces.
Result<TokenDecoder> read_decoder(const TokenizerField& field);
Result<PostProcessor> read_post_processor(const TokenizerField& field);

}  // namespace godwit
