#pragma once
// Finds and reads the tokenizer files of a checkpoint.

#include <filesystem>

#include "base/status.h"
#include "text/tokenizer.h"

namespace godwit {

/// Reads the tokenizer of a folder: the first there is of tokenizer.json, tekken.json,
/// tokenizer.model, tiktoken.model and vocab.txt; or one such file of any name, told by its ending
/// and content. tokenizer_config.json may lie beside it. What a configuration says of a tokenizer's
/// class plays no part.
/// Errors: kNotFound, naming what was looked for, and those of Tokenizer's readers.
Result<Tokenizer> load_tokenizer(const std::filesystem::path& path);

}  // namespace godwit
