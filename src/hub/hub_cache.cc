#include "hub/hub_cache.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/log.h"
#include "base/mapped_file.h"
#include "hub/hub_name.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCachedFiles = 200'000;
constexpr mode_t kFileMode = 0666;  // The umask takes from it.

Status cannot(std::string_view what, const fs::path& path, const std::error_code& error) {
  return internal_error(
      "cannot " + std::string(what) + " " + path.string() + ": " + error.message(),
      "give a folder that you can write to: --download-dir or HF_HUB_CACHE");
}

std::error_code last_error() {
  return {errno, std::generic_category()};
}

Status make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? cannot("make the folder", path, error) : Status();
}

/// A lock file that was deleted meanwhile locks nothing.
bool is_still_at(int fd, const fs::path& path) {
  struct stat held{};
  struct stat named{};
  return fstat(fd, &held) == 0 && stat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

}  // namespace

Result<FileLock> FileLock::acquire(const fs::path& path, std::string_view what) {
  bool told = false;
  while (true) {
    FileLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
    if (lock.fd_ < 0) {
      return cannot("open the lock", path, last_error());
    }
    int locked = flock(lock.fd_, LOCK_EX | LOCK_NB);
    if (locked != 0 && errno == EWOULDBLOCK) {
      if (!std::exchange(told, true)) {
        log::info("another process is downloading {}: waiting for it", what);
      }
      do {
        locked = flock(lock.fd_, LOCK_EX);
      } while (locked != 0 && errno == EINTR);
    }
    if (locked != 0) {
      return cannot("lock", path, last_error());
    }
    if (is_still_at(lock.fd_, path)) {
      return lock;
    }
  }
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

HubCache::HubCache(fs::path root, const std::string& repository) {
  std::string name = "models--" + repository;
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) {
    name.replace(slash, 1, "--");
  }
  locks_ = root / ".locks" / name;
  folder_ = std::move(root) / name;
}

fs::path HubCache::snapshot(const std::string& commit) const {
  return folder_ / "snapshots" / commit;
}

fs::path HubCache::blob(const std::string& etag) const {
  return folder_ / "blobs" / etag;
}

fs::path HubCache::partial_blob(const std::string& etag) const {
  return folder_ / "blobs" / (etag + ".incomplete");
}

Result<std::string> HubCache::commit_of(const std::string& revision) const {
  if (is_commit(revision)) {
    return revision;
  }
  const fs::path ref = folder_ / "refs" / revision;
  const Result<std::string> text = read_file(ref, 4096);
  if (!text.ok()) {
    return not_found("the cache knows no revision " + revision + " (" + ref.string() + ")");
  }
  const std::string commit = text->substr(0, text->find_last_not_of(" \r\n") + 1);
  if (!is_commit(commit)) {
    return invalid_argument(ref.string() + " holds no commit", "delete it");
  }
  return commit;
}

Status HubCache::remember(const std::string& revision, const std::string& commit) const {
  const Result<std::string> known = commit_of(revision);
  if (known.ok() && *known == commit) {
    return {};
  }
  const fs::path ref = folder_ / "refs" / revision;
  TRY(make_folder(ref.parent_path()));
  // Written aside and renamed, so that nobody reads half of it.
  const fs::path aside = ref.string() + "." + std::to_string(getpid()) + ".tmp";
  const int fd = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  if (fd < 0) {
    return cannot("write", aside, last_error());
  }
  const bool written =
      write(fd, commit.data(), commit.size()) == static_cast<ssize_t>(commit.size());
  const std::error_code error = last_error();
  if (close(fd) != 0 || !written) {
    return cannot("write", aside, error);
  }
  return rename(aside.c_str(), ref.c_str()) == 0 ? Status() : cannot("write", ref, last_error());
}

bool HubCache::has(const std::string& commit, const std::string& file) const {
  std::error_code error;
  return fs::is_regular_file(snapshot(commit) / file, error);
}

Result<std::vector<std::string>> HubCache::files(const std::string& commit) const {
  const fs::path root = snapshot(commit);
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator it(root, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code broken;
    if (names.size() == kMostCachedFiles) {
      return invalid_argument(root.string() + " has too many files");
    }
    if (it->is_regular_file(broken)) {
      names.push_back(it->path().lexically_relative(root).generic_string());
    }
  }
  if (error) {
    return not_found("the cache has no " + root.string());
  }
  return names;
}

Status HubCache::link(const std::string& commit, const std::string& file,
                      const std::string& etag) const {
  const fs::path root = snapshot(commit);
  const fs::path pointer = root / file;
  TRY(make_folder(pointer.parent_path()));
  std::error_code error;
  const fs::path real_root = fs::canonical(root, error);
  const fs::path real_parent = error ? fs::path() : fs::canonical(pointer.parent_path(), error);
  if (error || !(real_parent / "").string().starts_with((real_root / "").string())) {
    return invalid_argument(pointer.string() + " would lie outside of its snapshot",
                            "remove the links that are folders in " + root.string());
  }
  fs::path target = "../../blobs";
  for (const char c : file) {
    if (c == '/') {
      target = ".." / target;
    }
  }
  target /= etag;
  const fs::path aside = pointer.string() + "." + std::to_string(getpid()) + ".tmp";
  fs::remove(aside, error);
  fs::create_symlink(target, aside, error);
  if (!error) {
    fs::rename(aside, pointer, error);
  }
  return error ? cannot("make the link", pointer, error) : Status();
}

Result<FileLock> HubCache::lock(const std::string& etag, std::string_view what) const {
  TRY(make_folder(folder_ / "blobs"));
  TRY(make_folder(locks_));
  return FileLock::acquire(locks_ / (etag + ".lock"), what);
}

}  // namespace godwit
