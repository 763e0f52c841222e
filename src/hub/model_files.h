#pragma once
// Which files of a repository godwit reads: nothing else is downloaded.

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace godwit {

/// The small files: configuration, tokenizer, chat templates.
std::vector<std::string> select_text_files(const std::vector<std::string>& files);

/// The files that hold or name the tensors of a checkpoint: model.safetensors, or the index, whose
/// shards read_shards() tells. Errors: kNotFound, saying what there is instead.
Result<std::string> select_weights(const std::vector<std::string>& files,
                                   const std::string& repository);

/// The shards that a model.safetensors.index.json names, sorted, each once.
/// Errors: kInvalidArgument for what is no index or names something that is no shard.
Result<std::vector<std::string>> read_shards(std::string_view index, const std::string& repository);

/// The .gguf file that `wanted` names: itself, or a quantisation ("Q4_K_M", of any case) that ends
/// the name of one file. Of a model in parts (NAME-00001-of-00003.gguf) all of them in order,
/// whether or not they are in `files`. Errors: kNotFound or kInvalidArgument, listing what there
/// is.
Result<std::vector<std::string>> select_gguf(const std::vector<std::string>& files,
                                             const std::string& wanted,
                                             const std::string& repository);

}  // namespace godwit
