#pragma once
// A model in GGUF files, which llama.cpp's gguf-split may have cut into several:
// NAME-00001-of-00003.gguf has all metadata (among them split.count), each part some of the
// tensors.

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "weights/gguf.h"

namespace godwit {

struct GgufParts {
  GgufFile whole;                  ///< The first file, with the tensors of all.
  std::vector<std::string> files;  ///< Paths, by StoredTensor::file.
  std::vector<std::shared_ptr<const MappedFile>> mappings;
};

/// Opens a file and, if it is the first of several, the others beside it. Errors: those of
/// GgufFile::open; kInvalidArgument for a part that is not the first or belongs to another model;
/// kNotFound for one that is missing.
Result<GgufParts> open_gguf_parts(const std::filesystem::path& path);

}  // namespace godwit
