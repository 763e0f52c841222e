#pragma once
// The stored tensors of a model, whatever the format: a folder with model.safetensors, a folder
// with model.safetensors.index.json and its shards, or a .gguf file with its further parts.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "weights/gguf.h"
#include "weights/stored_tensor.h"

namespace godwit {

/// Tensors by name over mapped files. Opening reads headers, no data. Copies share the mappings.
class Checkpoint {
 public:
  /// Errors: kNotFound or kInvalidArgument, naming file and tensor and what to do.
  static Result<Checkpoint> open(const std::filesystem::path& path);

  /// The folder or .gguf file.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Full paths of the files that hold tensors.
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
  /// Path of the file that holds `tensor`, for messages.
  [[nodiscard]] const std::string& file_of(const StoredTensor& tensor) const {
    return files_[tensor.file];
  }

  /// Sorted by name.
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// Null pointer when there is none of that name.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  /// Bytes of all tensors.
  [[nodiscard]] std::size_t total_bytes() const;

  /// The GGUF file with its metadata, of several the first with the tensors of all; null pointer
  /// for other formats.
  [[nodiscard]] const GgufFile* gguf() const { return gguf_ ? &*gguf_ : nullptr; }
  /// What keeps the tensors' bytes mapped.
  [[nodiscard]] const std::vector<std::shared_ptr<const MappedFile>>& mappings() const {
    return mappings_;
  }

 private:
  Checkpoint() = default;
  static Result<Checkpoint> open_gguf(const std::filesystem::path& path);
  static Result<Checkpoint> open_index(const std::filesystem::path& index);
  /// Adds the tensors of one safetensors file.
  Status add_safetensors(const std::filesystem::path& path);
  /// Sorts the tensors and refuses a name that occurs twice.
  Status sort_tensors();

  std::filesystem::path path_;
  std::vector<std::string> files_;
  std::vector<std::shared_ptr<const MappedFile>> mappings_;
  std::vector<StoredTensor> tensors_;
  std::optional<GgufFile> gguf_;
};

}  // namespace godwit
