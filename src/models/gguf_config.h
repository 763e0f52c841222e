#pragma once
// The config of a GGUF file in Hugging Face's form, so that a model reads one form only.

#include "base/json.h"
#include "base/status.h"
#include "weights/gguf.h"

namespace godwit {

/// Translates metadata and the presence of tensors. Errors: kUnimplemented for an architecture that
/// godwit lacks; kInvalidArgument naming a missing key.
Result<Json> config_from_gguf(const GgufFile& file);

}  // namespace godwit
