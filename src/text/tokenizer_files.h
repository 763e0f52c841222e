#pragma once
// Finds and reads the tokenizer files of a checkpoint.

#include <filesystem>

#include "base/status.h"
#include "text/tokenizer.h"

namespace godwit {

/// Reads a folder with tokenizer.json and, optionally, tokenizer_config.json, or one tokenizer.json
/// (of any name), beside which tokenizer_config.json may lie.
/// Errors: kNotFound, and those of Tokenizer::from_json.
Result<Tokenizer> load_tokenizer(const std::filesystem::path& path);

}  // namespace godwit
