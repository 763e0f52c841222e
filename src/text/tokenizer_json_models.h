#pragma once
// Reads the model of tokenizer.json: its vocabulary and how it writes text with it.

#include "base/status.h"
#include "text/tokenizer_fields.h"
#include "text/tokenizer_parts.h"

namespace godwit {

/// Errors: kInvalidArgument with the field's name; kUnimplemented with the model's type.
Result<TokenModel> read_model(const TokenizerField& field);

}  // namespace godwit
