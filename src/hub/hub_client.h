#pragma once
// What a hub is asked: which files a revision has, what a file is, and its bytes.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "hub/http_exchange.h"
#include "hub/hub_settings.h"
#include "hub/retries.h"

namespace godwit {

/// One state of a repository.
struct RepositoryFiles {
  std::string commit;              ///< 40 hexadecimal digits.
  std::vector<std::string> files;  ///< Paths below the root, safe as paths below a folder.
};

/// What the hub says of a file before it is read.
struct FileFacts {
  /// The name of its bytes: the SHA-256 of a file kept by Git LFS, the SHA-1 that git gives a small
  /// one (64 or 40 hexadecimal digits), or what another server calls it. Safe as a file's name.
  std::string etag;
  std::uint64_t size = 0;
};

/// Speaks the hub's HTTP on the calling thread. The token is shown to the endpoint's origin alone,
/// and over http only on this machine. Errors say what to do about a gated repository, a token, a
/// wrong name; kUnavailable is a connection that failed more often than the policy allows.
class HubClient {
 public:
  HubClient(HubSettings settings, RetryPolicy retries, HttpTimeouts timeouts = {});

  [[nodiscard]] Result<RepositoryFiles> list(const std::string& repository,
                                             const std::string& revision) const;
  [[nodiscard]] Result<FileFacts> facts(const std::string& repository, const std::string& commit,
                                        const std::string& file) const;

  /// One try of reading a file from byte `from` on. The sink's begin() sees status 200, 206 or 416.
  /// `asked` becomes what a busy server wants us to wait.
  Status read(const std::string& repository, const std::string& commit, const std::string& file,
              std::uint64_t from, ResponseSink& sink,
              std::optional<std::chrono::milliseconds>& asked) const;

  [[nodiscard]] const RetryPolicy& retries() const { return retries_; }

 private:
  struct Subject;
  /// One request, redirects followed; `head` becomes the last response's.
  Status send(std::string_view method, const Subject& subject, std::uint64_t from,
              ResponseSink& sink, HttpHead& head) const;
  /// Sends until it succeeds or the policy ends it; begin() empties what the sink has.
  Status send_repeatedly(std::string_view method, const Subject& subject, ResponseSink& sink,
                         HttpHead& head) const;
  /// What a status that is no success means.
  [[nodiscard]] Status refusal(const Subject& subject, const HttpHead& head) const;
  [[nodiscard]] bool shows_token(const Url& url) const;
  [[nodiscard]] Url url_of(const std::string& target) const;

  HubSettings settings_;
  RetryPolicy retries_;
  HttpTimeouts timeouts_;
};

}  // namespace godwit
