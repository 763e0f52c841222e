#pragma once
// The vocabulary of a tokenizer.json as a GGUF file would hold it.

#include <filesystem>
#include <string>
#include <vector>

#include "text/gguf_vocabulary.h"

namespace godwit::test {

/// A vocabulary and the texts that its views look into.
struct OwnedVocabulary {
  std::string file;
  std::vector<std::string> texts;
  GgufVocabulary vocabulary;
};

/// Writes the vocabulary of a tokenizer.json the way a converter to GGUF does.
OwnedVocabulary convert_to_gguf(const std::filesystem::path& path, const std::string& pre);

/// The same for t5-small's Unigram vocabulary, without its sentinels.
OwnedVocabulary convert_t5_to_gguf(const std::filesystem::path& path);

}  // namespace godwit::test
