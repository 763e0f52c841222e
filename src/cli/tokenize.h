#pragma once
// `godwit tokenize` and `godwit detokenize`: a tokenizer without a model. Both read lines of JSON
// and write one line for each.

#include <cstdio>

#include "base/status.h"
#include "text/tokenizer.h"

namespace godwit {

struct DetokenizeOptions {
  bool skip_special_tokens = false;
};

/// Encodes each line {"text": "..."} of `in` to a line {"ids": [...]} of `out`. A line that is
/// wrong becomes {"error": "..."}, and the next one is read. Errors: reading and writing.
Status run_tokenize(const Tokenizer& tokenizer, const EncodeOptions& options, std::FILE* in,
                    std::FILE* out);

/// Decodes each line {"ids": [...]} of `in` to a line {"text": "..."} of `out`, likewise.
Status run_detokenize(const Tokenizer& tokenizer, const DetokenizeOptions& options, std::FILE* in,
                      std::FILE* out);

}  // namespace godwit
