#include "hub/hub_client.h"

#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "hub/hub_name.h"

namespace godwit {
namespace {

constexpr int kMostRedirects = 10;
constexpr std::size_t kLargestList = std::size_t{64} << 20;
constexpr std::size_t kMostListValues = 4'000'000;
constexpr std::size_t kMostFiles = 200'000;
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 42;
constexpr std::size_t kLongestEtag = 128;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// Lets only the final response through to the sink; bodies of others stay unread.
class FinalResponse final : public ResponseSink {
 public:
  explicit FinalResponse(ResponseSink& sink) : sink_(sink) {}

  Status begin(const HttpHead& head) override {
    head_ = head;
    if (head.status != 200 && head.status != 206 && head.status != 416) {
      unread_ = true;
      return unavailable("this answer is not read");
    }
    return sink_.begin(head);
  }
  Status write(std::string_view bytes) override { return sink_.write(bytes); }

  [[nodiscard]] const HttpHead& head() const { return head_; }
  [[nodiscard]] bool unread() const { return unread_; }

 private:
  ResponseSink& sink_;
  HttpHead head_;
  bool unread_ = false;
};

/// Collects a body of bounded size.
class TextSink final : public ResponseSink {
 public:
  Status begin(const HttpHead& /*head*/) override {
    text_.clear();
    return {};
  }
  Status write(std::string_view bytes) override {
    if (bytes.size() > kLargestList - text_.size()) {
      return invalid_argument("the hub's list of files is larger than 64 MiB");
    }
    text_ += bytes;
    return {};
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// `W/"abc"` and `"abc"` name abc.
std::string plain_etag(std::string_view etag) {
  if (etag.starts_with("W/")) {
    etag.remove_prefix(2);
  }
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return std::string(etag);
}

bool is_safe_etag(std::string_view etag) {
  return !etag.empty() && etag.size() <= kLongestEtag && etag.front() != '.' &&
         std::all_of(etag.begin(), etag.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

std::optional<std::chrono::milliseconds> asked_wait(const HttpHead& head) {
  const auto seconds = head.number("Retry-After");
  if (!seconds) {
    return std::nullopt;
  }
  return std::chrono::seconds(std::min<std::uint64_t>(*seconds, 3600));
}

Result<RepositoryFiles> read_list(const std::string& text, const std::string& repository) {
  const std::string what = "the hub's list of " + repository;
  const Json json = TRY(parse_json(text, what, {.max_values = kMostListValues}));
  RepositoryFiles files;
  const Json* commit = json.find("sha");
  const Json* siblings = json.find("siblings");
  if (commit == nullptr || !commit->is_string() || !is_commit(commit->as_string()) ||
      siblings == nullptr || !siblings->is_array()) {
    return invalid_argument(what + " names no commit or no files", "check HF_ENDPOINT");
  }
  if (siblings->as_array().size() > kMostFiles) {
    return invalid_argument(what + " has more than " + std::to_string(kMostFiles) + " files");
  }
  files.commit = commit->as_string();
  for (const Json& sibling : siblings->as_array()) {
    const Json* name = sibling.find("rfilename");
    if (name == nullptr || !name->is_string()) {
      return invalid_argument(what + " has an entry without a name", "check HF_ENDPOINT");
    }
    if (!is_safe_file_name(name->as_string())) {
      return invalid_argument(what + " names the file \"" + printable(name->as_string()) +
                                  "\", which leaves its folder",
                              "do not use this repository");
    }
    files.files.push_back(name->as_string());
  }
  return files;
}

}  // namespace

/// What a request is about, for errors.
struct HubClient::Subject {
  std::string repository;
  std::string revision;
  std::string file;  ///< Empty for the list.
  std::string target;

  static Subject of_file(const std::string& repository, const std::string& commit,
                         const std::string& file) {
    return {.repository = repository,
            .revision = commit,
            .file = file,
            .target = "/" + repository + "/resolve/" + commit + "/" + encode_path(file)};
  }
};

HubClient::HubClient(HubSettings settings, RetryPolicy retries, HttpTimeouts timeouts)
    : settings_(std::move(settings)), retries_(std::move(retries)), timeouts_(timeouts) {}

Url HubClient::url_of(const std::string& target) const {
  Url url = settings_.endpoint;
  url.target += target;
  return url;
}

bool HubClient::shows_token(const Url& url) const {
  return !settings_.token.empty() && url.same_origin(settings_.endpoint) &&
         (url.tls || url.is_loopback());
}

Status HubClient::refusal(const Subject& subject, const HttpHead& head) const {
  const std::string* code = head.find("X-Error-Code");
  const auto says = [&](std::string_view name) { return code != nullptr && *code == name; };
  const std::string& repository = subject.repository;
  const std::string status = "status " + std::to_string(head.status);
  if (head.status == 408 || head.status == 429 || head.status >= 500) {
    return unavailable(url_of(subject.target).shown() + " answers " + status,
                       head.status == 429
                           ? "the hub is busy or limits you: try later, or set HF_TOKEN"
                           : "try later");
  }
  if (says("GatedRepo")) {
    return invalid_argument(repository + " is gated: its owner grants access",
                            "ask for it at " + url_of("/" + repository).shown() +
                                ", then set HF_TOKEN to a token of your account");
  }
  if (head.status == 401 || head.status == 403) {
    const bool shown = shows_token(settings_.endpoint);
    return not_found(
        "the hub does not show " + repository + (shown ? " to your token" : " to everybody") +
            " (" + status + ")",
        shown ? "check the name, and that HF_TOKEN is valid and may read this repository"
        : settings_.token.empty()
            ? "check the name; if it is private or gated, set HF_TOKEN"
            : "check the name; your token is not sent over http: set HF_ENDPOINT to an https URL");
  }
  if (head.status == 404) {
    if (!subject.file.empty()) {
      return not_found(repository + " has no file " + subject.file + " at " + subject.revision);
    }
    if (says("RevisionNotFound")) {
      return not_found(repository + " has no revision " + subject.revision,
                       "name a branch, a tag or a commit that it has");
    }
    return not_found("the hub has no repository " + repository,
                     "check the name; if it is private, set HF_TOKEN");
  }
  return invalid_argument(url_of(subject.target).shown() + " answers " + status,
                          "check HF_ENDPOINT");
}

Status HubClient::send(std::string_view method, const Subject& subject, std::uint64_t from,
                       ResponseSink& sink, HttpHead& head) const {
  Url url = url_of(subject.target);
  for (int redirects = 0; redirects <= kMostRedirects; ++redirects) {
    FetchRequest request{
        .method = method, .url = url, .headers = {}, .proxy = settings_.proxies.find(url)};
    if (from > 0) {
      request.headers.emplace_back("Range", "bytes=" + std::to_string(from) + "-");
    }
    if (shows_token(url)) {
      request.headers.emplace_back("Authorization", "Bearer " + settings_.token);
    }
    FinalResponse response(sink);
    const Status status = http_exchange(request, timeouts_, response);
    head = response.head();
    if (!response.unread()) {
      return status;
    }
    if (!is_redirect(head.status)) {
      return refusal(subject, head);
    }
    const std::string* location = head.find("Location");
    if (location == nullptr) {
      return invalid_argument(url.shown() + " redirects to nowhere", "check HF_ENDPOINT");
    }
    Url next = TRY(resolve_url(url, *location));
    if (url.tls && !next.tls) {
      return invalid_argument(url.shown() + " redirects from https to " + next.shown(),
                              "check HF_ENDPOINT");
    }
    // Where the bytes lie is another host; what they are, the hub's own answer says.
    if (method == "HEAD" && !next.same_origin(url)) {
      return {};
    }
    url = std::move(next);
  }
  return invalid_argument(url_of(subject.target).shown() + " redirects more than " +
                              std::to_string(kMostRedirects) + " times",
                          "check HF_ENDPOINT");
}

Status HubClient::send_repeatedly(std::string_view method, const Subject& subject,
                                  ResponseSink& sink, HttpHead& head) const {
  Retries retries(retries_);
  while (true) {
    head = {};
    const Status status = send(method, subject, 0, sink, head);
    if (status.ok()) {
      return {};
    }
    TRY(retries.after(status, asked_wait(head)));
  }
}

Result<RepositoryFiles> HubClient::list(const std::string& repository,
                                        const std::string& revision) const {
  // A slash in a branch's name is part of the name here, and no separator.
  std::string quoted;
  for (const char c : revision) {
    quoted += c == '/' ? std::string("%2F") : encode_path(std::string(1, c));
  }
  const Subject subject{.repository = repository,
                        .revision = revision,
                        .file = "",
                        .target = "/api/models/" + repository + "/revision/" + quoted};
  TextSink sink;
  HttpHead head;
  TRY(send_repeatedly("GET", subject, sink, head));
  return read_list(sink.text(), repository);
}

Result<FileFacts> HubClient::facts(const std::string& repository, const std::string& commit,
                                   const std::string& file) const {
  const Subject subject = Subject::of_file(repository, commit, file);
  TextSink sink;
  HttpHead head;
  TRY(send_repeatedly("HEAD", subject, sink, head));
  const std::string what = file + " of " + repository;
  if (const std::string* said = head.find("X-Repo-Commit"); said != nullptr && *said != commit) {
    return invalid_argument("the hub answers for commit " + printable(*said) + " when asked for " +
                                what + " at " + commit,
                            "check HF_ENDPOINT");
  }
  const std::string* etag = head.find("X-Linked-Etag");
  if (etag == nullptr) {
    etag = head.find("ETag");
  }
  auto size = head.number("X-Linked-Size");
  if (!size && !is_redirect(head.status)) {
    size = head.number("Content-Length");
  }
  FileFacts facts;
  facts.etag = etag != nullptr ? plain_etag(*etag) : "";
  if (!is_safe_etag(facts.etag) || !size || *size > kLargestFile) {
    return invalid_argument("the hub gives no usable ETag and size for " + what,
                            "check HF_ENDPOINT");
  }
  facts.size = *size;
  return facts;
}

Status HubClient::read(const std::string& repository, const std::string& commit,
                       const std::string& file, std::uint64_t from, ResponseSink& sink,
                       std::optional<std::chrono::milliseconds>& asked) const {
  const Subject subject = Subject::of_file(repository, commit, file);
  HttpHead head;
  const Status status = send("GET", subject, from, sink, head);
  asked = asked_wait(head);
  return status;
}

}  // namespace godwit
