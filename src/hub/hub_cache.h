#pragma once
// One repository's folder in the cache, laid out as huggingface_hub has it, so that both use the
// same:
//   models--ORG--NAME/blobs/<etag>                the bytes; <etag>.incomplete while they come
//   models--ORG--NAME/snapshots/<commit>/<file>   a relative link to the blob
//   models--ORG--NAME/refs/<branch or tag>        the commit it was last seen at
//   .locks/models--ORG--NAME/<etag>.lock          locked by who downloads the blob

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace godwit {

/// Holds an exclusive flock() on a file until it is destroyed or the process ends.
class FileLock {
 public:
  /// Waits for the lock, with a log line that names `what` when another process has it.
  static Result<FileLock> acquire(const std::filesystem::path& path, std::string_view what);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

/// Names of commits, files and etags must be safe (hub_name.h, FileFacts). Errors name the path.
class HubCache {
 public:
  HubCache(std::filesystem::path root, const std::string& repository);

  [[nodiscard]] std::filesystem::path snapshot(const std::string& commit) const;
  [[nodiscard]] std::filesystem::path blob(const std::string& etag) const;
  [[nodiscard]] std::filesystem::path partial_blob(const std::string& etag) const;

  /// The commit of a branch or tag, or the commit itself. Errors: kNotFound.
  [[nodiscard]] Result<std::string> commit_of(const std::string& revision) const;
  /// Remembers the commit of a branch or tag; a commit needs no memory.
  [[nodiscard]] Status remember(const std::string& revision, const std::string& commit) const;

  /// Whether the snapshot has this file and its blob.
  [[nodiscard]] bool has(const std::string& commit, const std::string& file) const;
  /// The files that the snapshot has, as paths below it.
  [[nodiscard]] Result<std::vector<std::string>> files(const std::string& commit) const;
  /// Makes snapshots/<commit>/<file> point to the blob.
  [[nodiscard]] Status link(const std::string& commit, const std::string& file,
                            const std::string& etag) const;

  /// Makes the folders that a download needs, then locks the blob.
  [[nodiscard]] Result<FileLock> lock(const std::string& etag, std::string_view what) const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path locks_;
};

}  // namespace godwit
