#pragma once
// A file mapped read-only into memory.

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/status.h"

namespace godwit {

/// Owns a read-only mapping of a whole file. The mapping must not outlive a truncation of the file
/// by somebody else: reading past the new end would raise SIGBUS.
class MappedFile {
 public:
  /// Errors: kNotFound or kInvalidArgument, naming the path and the system's reason.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Tells the system that these bytes of a mapping are done with, so that their pages no longer
/// count as this process's memory. They may be read again. Only whole pages go.
void release_pages(std::span<const std::byte> bytes);

/// Reads a whole text file of at most `max_bytes`.
/// Errors: kNotFound, or kInvalidArgument when it is larger or cannot be read.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t max_bytes = std::size_t{1} << 30);

}  // namespace godwit
