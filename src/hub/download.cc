#include "hub/download.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/log.h"
#include "hub/blob_hash.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadChunk = std::size_t{1} << 20;
/// A connection that brought so much counts as progress: failures before it are forgotten.
constexpr std::uint64_t kProgress = std::uint64_t{1} << 20;

/// The start of "bytes 5-9/10", when its total is `size` or left open.
std::optional<std::uint64_t> range_start(const HttpHead& head, std::uint64_t size) {
  const std::string* text = head.find("Content-Range");
  if (text == nullptr || !text->starts_with("bytes ")) {
    return std::nullopt;
  }
  const std::size_t slash = text->find('/');
  const std::string total = slash == std::string::npos ? "" : text->substr(slash + 1);
  if (total != "*" && total != std::to_string(size)) {
    return std::nullopt;
  }
  std::uint64_t start = 0;
  const auto [end, error] = std::from_chars(text->data() + 6, text->data() + text->size(), start);
  return error == std::errc() && *end == '-' ? std::optional(start) : std::nullopt;
}

/// The file <etag>.incomplete: what came so far, and its hash.
class PartialBlob final : public ResponseSink {
 public:
  PartialBlob(fs::path path, std::string name, FileFacts facts, BlobHash hash, Progress& progress)
      : path_(std::move(path)),
        name_(std::move(name)),
        facts_(std::move(facts)),
        hash_(std::move(hash)),
        progress_(progress) {}
  PartialBlob(const PartialBlob&) = delete;
  PartialBlob& operator=(const PartialBlob&) = delete;
  ~PartialBlob() override {
    if (fd_ >= 0) {
      close(fd_);
    }
  }

  /// Opens the file, hashes what an earlier try left in it, and looks for room for the rest.
  Status open();
  /// Takes the bytes from the server's answer, at the place that it says.
  Status begin(const HttpHead& head) override;
  Status write(std::string_view bytes) override;
  /// Throws away what is there.
  Status restart();
  void remove() const { unlink(path_.c_str()); }
  /// The bytes are all there. Errors: kInvalidArgument when they are the wrong ones.
  Status verify();
  Status rename_to(const fs::path& blob);

  [[nodiscard]] std::uint64_t done() const { return done_; }
  [[nodiscard]] bool complete() const { return done_ == facts_.size; }

 private:
  Status hash_existing();
  Status check_room() const;
  [[nodiscard]] Status failed(std::string_view what) const;

  fs::path path_;
  std::string name_;  ///< For messages.
  FileFacts facts_;
  BlobHash hash_;
  Progress& progress_;
  int fd_ = -1;
  std::uint64_t done_ = 0;
};

Status PartialBlob::failed(std::string_view what) const {
  const int error = errno;
  const std::string cause = "cannot " + std::string(what) + " " + path_.string() + ": " +
                            std::generic_category().message(error);
  if (error == ENOSPC || error == EDQUOT) {
    return resource_exhausted(cause, "make room and call again: the download goes on where it is");
  }
  return internal_error(cause,
                        "give a folder that you can write to: --download-dir or HF_HUB_CACHE");
}

Status PartialBlob::open() {
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd_ < 0) {
    return failed("open");
  }
  struct stat facts{};
  if (fstat(fd_, &facts) != 0) {
    return failed("look at");
  }
  done_ = static_cast<std::uint64_t>(facts.st_size);
  if (done_ > facts_.size) {
    TRY(restart());
  }
  TRY(hash_existing());
  return check_room();
}

Status PartialBlob::hash_existing() {
  std::vector<char> chunk(kReadChunk);
  for (std::uint64_t at = 0; at < done_;) {
    const ssize_t got = pread(fd_, chunk.data(), chunk.size(), static_cast<off_t>(at));
    if (got <= 0) {
      return failed("read");
    }
    TRY(hash_.update({chunk.data(), static_cast<std::size_t>(got)}));
    at += static_cast<std::uint64_t>(got);
  }
  return {};
}

Status PartialBlob::check_room() const {
  struct statvfs room{};
  const std::uint64_t missing = facts_.size - done_;
  if (fstatvfs(fd_, &room) != 0) {
    return {};
  }
  const std::uint64_t available = std::uint64_t{room.f_bavail} * room.f_frsize;
  if (missing > available) {
    return resource_exhausted(
        name_ + " needs " + bytes_text(missing) + " more, and " + path_.parent_path().string() +
            " has room for " + bytes_text(available),
        "make room, or name another folder with --download-dir or HF_HUB_CACHE");
  }
  return {};
}

Status PartialBlob::begin(const HttpHead& head) {
  if (head.status == 416) {
    TRY(restart());
    return unavailable("the hub does not go on with " + name_ + " where it was");
  }
  if (head.status == 206) {
    if (range_start(head, facts_.size) != done_) {
      TRY(restart());
      return unavailable("the hub goes on with " + name_ + " at another place than asked for");
    }
    return {};
  }
  if (done_ > 0) {
    TRY(restart());  // The server ignores ranges and begins again.
  }
  const auto length = head.number("Content-Length");
  if (length && *length != facts_.size) {
    return invalid_argument("the hub said that " + name_ + " has " + std::to_string(facts_.size) +
                                " bytes, and sends " + std::to_string(*length),
                            "check HF_ENDPOINT and what is between it and here");
  }
  return {};
}

Status PartialBlob::write(std::string_view bytes) {
  if (bytes.size() > facts_.size - done_) {
    TRY(restart());
    return invalid_argument(
        "the hub sends more than the " + std::to_string(facts_.size) + " bytes of " + name_,
        "check HF_ENDPOINT and what is between it and here");
  }
  TRY(hash_.update(bytes));
  while (!bytes.empty()) {
    const ssize_t put = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(done_));
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put <= 0) {
      return failed("write");
    }
    done_ += static_cast<std::uint64_t>(put);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  progress_.update(done_);
  return {};
}

Status PartialBlob::restart() {
  if (ftruncate(fd_, 0) != 0) {
    return failed("empty");
  }
  done_ = 0;
  return hash_.reset();
}

Status PartialBlob::verify() {
  const std::string got = TRY(hash_.finish());
  if (got == facts_.etag) {
    return {};
  }
  const std::string kind(hash_.name());
  return invalid_argument(
      name_ + " came with wrong bytes: expected " + kind + " " + facts_.etag + ", got " + got,
      "call again; if it stays, what is between the hub and here changes files");
}

Status PartialBlob::rename_to(const fs::path& blob) {
  // The name promises the bytes, also after the machine lost power.
  if (fsync(fd_) != 0 || rename(path_.c_str(), blob.c_str()) != 0) {
    return failed("complete");
  }
  return {};
}

Status fetch_rest(const DownloadContext& context, const std::string& repository,
                  const std::string& commit, const std::string& file, PartialBlob& partial) {
  Retries retries(context.client.retries());
  std::uint64_t furthest = partial.done();
  while (!partial.complete()) {
    std::optional<std::chrono::milliseconds> asked;
    Status status = context.client.read(repository, commit, file, partial.done(), partial, asked);
    if (status.ok() && !partial.complete()) {
      status = unavailable("the connection ended before " + file + " of " + repository + " did",
                           "check the network, and call again: the download goes on where it is");
    }
    if (partial.done() >= furthest + kProgress) {
      furthest = partial.done();
      retries.reset();
    }
    if (!status.ok()) {
      TRY(retries.after(status, asked));
    }
  }
  return {};
}

bool has_size(const fs::path& path, std::uint64_t size) {
  std::error_code error;
  return fs::is_regular_file(path, error) && fs::file_size(path, error) == size && !error;
}

Status fetch_blob(const DownloadContext& context, const std::string& repository,
                  const std::string& commit, const std::string& file, const FileFacts& facts) {
  const std::string name = file + " of " + repository;
  PartialBlob partial(context.cache.partial_blob(facts.etag), name, facts,
                      TRY(BlobHash::create(facts.etag, facts.size)), context.progress);
  TRY(partial.open());
  const bool continued = partial.done() > 0;
  context.progress.start(file, facts.size, partial.done());
  Status status = fetch_rest(context, repository, commit, file, partial);
  if (status.ok()) {
    status = partial.verify();
    if (!status.ok() && continued) {
      log::warning("{}; the part from an earlier try may be at fault: once more from the start",
                   status.cause());
      TRY(partial.restart());
      status = fetch_rest(context, repository, commit, file, partial);
      status = status.ok() ? partial.verify() : status;
    }
    if (!status.ok() && partial.complete()) {
      partial.remove();
    }
  }
  context.progress.finish();
  TRY(status);
  return partial.rename_to(context.cache.blob(facts.etag));
}

}  // namespace

Status download_file(const DownloadContext& context, const std::string& repository,
                     const std::string& commit, const std::string& file) {
  if (context.cache.has(commit, file)) {
    return {};
  }
  const FileFacts facts = TRY(context.client.facts(repository, commit, file));
  {
    const FileLock lock = TRY(context.cache.lock(facts.etag, file));
    if (!has_size(context.cache.blob(facts.etag), facts.size)) {
      TRY(fetch_blob(context, repository, commit, file, facts));
    }
  }
  return context.cache.link(commit, file, facts.etag);
}

}  // namespace godwit
