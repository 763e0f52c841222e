#pragma once
// Reader of the safetensors format: 8 bytes of header length (little endian), a JSON header that
// gives each tensor's type, shape and byte range, then the data without holes.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "weights/stored_tensor.h"

namespace godwit {

/// Checks the header of a safetensors file held in `bytes` and lists its tensors, whose data point
/// into `bytes`, in the order of their offsets. `name` stands for the file in errors.
/// Errors: kInvalidArgument, naming file and tensor.
Result<std::vector<StoredTensor>> parse_safetensors(std::span<const std::byte> bytes,
                                                    std::string_view name);

/// A mapped safetensors file. Opening touches the header's pages only. Copies share the mapping.
class SafetensorsFile {
 public:
  /// Errors: those of MappedFile::open and parse_safetensors.
  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  /// In the order of their offsets.
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// Null pointer when there is none of that name.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  /// The mapping, which the tensors' data point into.
  [[nodiscard]] const std::shared_ptr<const MappedFile>& mapping() const { return mapping_; }

 private:
  SafetensorsFile(std::shared_ptr<const MappedFile> mapping, std::vector<StoredTensor> tensors)
      : mapping_(std::move(mapping)), tensors_(std::move(tensors)) {}

  std::shared_ptr<const MappedFile> mapping_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace godwit
