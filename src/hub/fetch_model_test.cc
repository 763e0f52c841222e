// Whole downloads from a hub that misbehaves.

#include "hub/fetch_model.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "hub/blob_hash.h"
#include "hub/hub_cache.h"
#include "hub/testing/scripted_server.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;
using testing::answer;
using testing::ScriptedRequest;
using testing::ScriptedServer;

constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";
const std::string kWeights(300'000, 'w');

/// The hash of `body` in an ETag of 64 or 40 digits.
std::string etag_of(const std::string& body, std::size_t digits) {
  BlobHash hash = BlobHash::create(std::string(digits, '0'), body.size()).value();
  EXPECT_TRUE(hash.update(body).ok());
  return *hash.finish();
}

class Silent final : public Progress {
 public:
  void start(const std::string& file, std::uint64_t total, std::uint64_t done) override {
    started_.push_back(file + " " + std::to_string(done) + "/" + std::to_string(total));
  }
  void update(std::uint64_t /*done*/) override {}
  void finish() override {}
  std::vector<std::string> started_;
};

/// A hub with one repository, "a/b"; a test may take over any answer.
class FetchModel : public ::testing::Test {
 protected:
  FetchModel() {
    cache_ = fs::temp_directory_path() / ("godwit-hub-" + std::to_string(getpid()));
    fs::remove_all(cache_);
    policy_.attempts = 4;
    policy_.wait = [this](std::chrono::milliseconds time) { waits_.push_back(time.count()); };
  }
  ~FetchModel() override { fs::remove_all(cache_); }

  /// What the hub says to a request that no test takes over.
  std::string usual(const ScriptedRequest& request) const {
    const std::string resolve = std::string("/a/b/resolve/") + kCommit + "/";
    if (request.target == "/api/models/a/b/revision/main") {
      std::string siblings;
      for (const auto& [name, body] : files_) {
        siblings += (siblings.empty() ? "" : ",") + ("{\"rfilename\":\"" + name + "\"}");
      }
      return answer(200, "",
                    std::string("{\"sha\":\"") + kCommit + "\",\"siblings\":[" + siblings + "]}");
    }
    const auto file = request.target.starts_with(resolve)
                          ? files_.find(request.target.substr(resolve.size()))
                          : files_.end();
    if (file == files_.end()) {
      return answer(404, "X-Error-Code: EntryNotFound\r\n", "");
    }
    const std::string& body = file->second;
    const std::size_t digits = file->first.ends_with(".safetensors") ? 64 : 40;
    const std::string headers =
        "ETag: \"" + etag_of(body, digits) + "\"\r\nX-Repo-Commit: " + kCommit + "\r\n";
    if (request.method == "HEAD") {
      return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
             headers + "\r\n";
    }
    const std::size_t from = start_of(request);
    if (from == 0) {
      return answer(200, headers, body);
    }
    return answer(206,
                  headers + "Content-Range: bytes " + std::to_string(from) + "-" +
                      std::to_string(body.size() - 1) + "/" + std::to_string(body.size()) + "\r\n",
                  body.substr(from));
  }

  static std::size_t start_of(const ScriptedRequest& request) {
    const std::string range = request.header("Range").value_or("bytes=0-");
    return std::stoul(range.substr(6));
  }
  static bool reads_weights(const ScriptedRequest& request) {
    return request.method == "GET" && request.target.ends_with("/model.safetensors");
  }

  void serve(testing::Script script) {
    server_.emplace(std::move(script));
    settings_.endpoint = *parse_url(server_->url());
    settings_.endpoint.target = "";
    settings_.cache = cache_;
  }
  /// `take_over` may answer instead of the usual hub.
  void serve_with(std::function<std::optional<std::string>(const ScriptedRequest&)> take_over) {
    serve([this, take_over = std::move(take_over)](const ScriptedRequest& request) {
      const std::optional<std::string> own = take_over(request);
      return own ? *own : usual(request);
    });
  }
  Result<fs::path> fetch(FetchScope scope = FetchScope::kModel, const std::string& file = "") {
    return fetch_model({.repository = "a/b", .revision = "", .file = file}, scope, settings_,
                       progress_, policy_);
  }
  void expect_complete(const Result<fs::path>& path) const {
    ASSERT_TRUE(path.ok()) << path.status().message();
    EXPECT_EQ(*read_file(*path / "model.safetensors"), kWeights);
    EXPECT_TRUE(fs::is_symlink(*path / "model.safetensors"));
    EXPECT_EQ(*read_file(cache_ / "models--a--b/refs/main"), kCommit);
    EXPECT_FALSE(fs::exists(partial()));
  }
  fs::path partial() const {
    return cache_ / "models--a--b/blobs" / (etag_of(kWeights, 64) + ".incomplete");
  }
  void write_partial(const std::string& bytes) const {
    fs::create_directories(partial().parent_path());
    std::ofstream(partial()) << bytes;
  }

  std::map<std::string, std::string> files_ = {
      {"config.json", "{}"}, {"model.safetensors", kWeights}, {"pytorch_model.bin", "not needed"}};
  fs::path cache_;
  HubSettings settings_;
  RetryPolicy policy_;
  Silent progress_;
  std::vector<std::int64_t> waits_;
  std::optional<ScriptedServer> server_;
};

TEST_F(FetchModel, DownloadsWhatIsNeededOnce) {
  serve_with([](const ScriptedRequest&) { return std::nullopt; });
  expect_complete(fetch());
  EXPECT_EQ(progress_.started_,
            (std::vector<std::string>{"config.json 0/2", "model.safetensors 0/300000"}));
  const std::size_t asked = server_->requests().size();
  expect_complete(fetch());
  EXPECT_EQ(server_->requests().size(), asked + 1);
  settings_.offline = true;
  expect_complete(fetch());
  EXPECT_EQ(server_->requests().size(), asked + 1);
}

TEST_F(FetchModel, GoesOnBehindTheLastByteOfABrokenConnection) {
  int tries = 0;
  serve_with([&](const ScriptedRequest& request) -> std::optional<std::string> {
    if (!reads_weights(request) || ++tries > 3) {
      return std::nullopt;
    }
    const std::string whole = usual(request);
    return whole.substr(0, whole.size() - (kWeights.size() - start_of(request)) + 1000);
  });
  expect_complete(fetch());
  std::vector<std::size_t> starts;
  for (const ScriptedRequest& request : server_->requests()) {
    if (reads_weights(request)) {
      starts.push_back(start_of(request));
    }
  }
  EXPECT_EQ(starts, (std::vector<std::size_t>{0, 1000, 2000, 3000}));
  EXPECT_EQ(waits_, (std::vector<std::int64_t>{500, 1000, 2000}));
}

TEST_F(FetchModel, GivesUpAndLeavesWhatCanBeGoneOnWith) {
  serve_with([&](const ScriptedRequest& request) -> std::optional<std::string> {
    if (!reads_weights(request)) {
      return std::nullopt;
    }
    const std::string whole = usual(request);
    return whole.substr(0, whole.size() - (kWeights.size() - start_of(request)) + 10);
  });
  EXPECT_EQ(fetch().status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(fs::file_size(partial()), 40U);
  EXPECT_FALSE(fs::exists(cache_ / "models--a--b/refs/main"));
  serve_with([](const ScriptedRequest&) { return std::nullopt; });
  expect_complete(fetch());
  EXPECT_EQ(progress_.started_.back(), "model.safetensors 40/300000");
}

TEST_F(FetchModel, BeginsAgainWhenRangesAreIgnoredOrWrong) {
  for (const int status : {200, 206, 416}) {
    fs::remove_all(cache_);
    write_partial(kWeights.substr(0, 5000));
    serve_with([&](const ScriptedRequest& request) -> std::optional<std::string> {
      if (!reads_weights(request) || start_of(request) == 0) {
        return std::nullopt;
      }
      return status == 206 ? answer(206, "Content-Range: bytes 0-299999/300000\r\n", kWeights)
                           : answer(status, "", status == 200 ? kWeights : "");
    });
    expect_complete(fetch());
  }
}

TEST_F(FetchModel, WrongBytesAreRefusedAndRemoved) {
  const std::string wrong(kWeights.size(), 'x');
  serve_with([&](const ScriptedRequest& request) -> std::optional<std::string> {
    return reads_weights(request) ? std::optional(answer(200, "", wrong)) : std::nullopt;
  });
  const Status status = fetch().status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  for (const std::string& part :
       {std::string("model.safetensors of a/b"), etag_of(kWeights, 64), etag_of(wrong, 64)}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
  EXPECT_FALSE(fs::exists(partial()));
  EXPECT_FALSE(fs::exists(cache_ / "models--a--b/blobs" / etag_of(kWeights, 64)));
}

TEST_F(FetchModel, SmallFilesAreVerifiedAsGitDoes) {
  // The name that git gives "{}", by `git hash-object`.
  EXPECT_EQ(etag_of("{}", 40), "9e26dfeeb6e641a33dae4961196235bdb965b21b");
  serve_with([](const ScriptedRequest& request) -> std::optional<std::string> {
    const bool reads = request.method == "GET" && request.target.ends_with("/config.json");
    return reads ? std::optional(answer(200, "", "[]")) : std::nullopt;
  });
  EXPECT_NE(fetch().status().message().find("git SHA-1"), std::string::npos);
}

TEST_F(FetchModel, APartOfAnotherFileIsNotKept) {
  write_partial("another file");
  serve_with([](const ScriptedRequest&) { return std::nullopt; });
  expect_complete(fetch());
  write_partial(std::string(kWeights.size() + 1, 'w'));
  fs::remove_all(cache_ / "models--a--b/snapshots");
  fs::remove(cache_ / "models--a--b/blobs" / etag_of(kWeights, 64));
  expect_complete(fetch());
}

TEST_F(FetchModel, LiesAboutSizesAreFound) {
  for (const bool longer : {false, true}) {
    const std::string body = longer ? kWeights + "w" : kWeights.substr(1);
    for (const bool told : {false, true}) {
      serve_with([&](const ScriptedRequest& request) -> std::optional<std::string> {
        if (!reads_weights(request)) {
          return std::nullopt;
        }
        return told ? answer(200, "", body) : "HTTP/1.1 200 OK\r\n\r\n" + body;
      });
      const Status status = fetch().status();
      // One byte less without a length looks like a connection that broke, again and again.
      EXPECT_EQ(status.code(),
                longer || told ? StatusCode::kInvalidArgument : StatusCode::kUnavailable)
          << status.message();
      EXPECT_FALSE(fs::exists(cache_ / "models--a--b/snapshots" / kCommit / "model.safetensors"));
    }
  }
}

TEST_F(FetchModel, RedirectsTakeTheTokenToNobodyElse) {
  ScriptedServer store([&](const ScriptedRequest&) { return answer(200, "", kWeights); });
  settings_.token = "hf_secret";
  serve_with([&](const ScriptedRequest& request) -> std::optional<std::string> {
    if (request.target.ends_with("/resolve/" + std::string(kCommit) + "/model.safetensors")) {
      return answer(307, "Location: /moved/model.safetensors\r\n", "");
    }
    if (request.target == "/moved/model.safetensors") {
      return answer(302,
                    "Location: " + store.url("localhost") +
                        "/s?key=1\r\nX-Linked-Size: 300000\r\n" + "X-Linked-Etag: \"" +
                        etag_of(kWeights, 64) + "\"\r\n",
                    "");
    }
    return std::nullopt;
  });
  expect_complete(fetch());
  for (const ScriptedRequest& request : server_->requests()) {
    EXPECT_EQ(request.header("Authorization"), "Bearer hf_secret");
  }
  ASSERT_EQ(store.requests().size(), 1U);
  EXPECT_EQ(store.requests()[0].target, "/s?key=1");
  EXPECT_FALSE(store.requests()[0].header("Authorization"));
}

TEST_F(FetchModel, RedirectsEnd) {
  serve([](const ScriptedRequest&) { return answer(302, "Location: /again\r\n", ""); });
  EXPECT_EQ(fetch().status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(server_->requests().size(), 11U);
}

TEST_F(FetchModel, BusyHubsAreAskedAgainWhenTheySay) {
  int tries = 0;
  serve_with([&](const ScriptedRequest& request) -> std::optional<std::string> {
    if (request.target.starts_with("/api/") && ++tries <= 2) {
      return tries == 1 ? answer(429, "Retry-After: 7\r\n", "") : answer(503, "", "");
    }
    return std::nullopt;
  });
  expect_complete(fetch());
  EXPECT_EQ(waits_, (std::vector<std::int64_t>{7000, 1000}));
}

TEST_F(FetchModel, AHubThatIsAwayLeavesTheCache) {
  serve_with([](const ScriptedRequest&) { return std::nullopt; });
  expect_complete(fetch());
  serve([](const ScriptedRequest&) { return answer(500, "", ""); });
  expect_complete(fetch());
  EXPECT_EQ(waits_.size(), 3U);
  fs::remove_all(cache_);
  EXPECT_EQ(fetch().status().code(), StatusCode::kUnavailable);
}

TEST_F(FetchModel, RefusalsSayWhatToDo) {
  struct Case {
    int status;
    std::string headers;
    std::string said;
  };
  for (const Case& refusal :
       {Case{401, "", "set HF_TOKEN"}, Case{403, "X-Error-Code: GatedRepo\r\n", "gated"},
        Case{404, "X-Error-Code: RevisionNotFound\r\n", "no revision main"},
        Case{404, "", "no repository a/b"}, Case{302, "", "nowhere"}}) {
    serve([&](const ScriptedRequest&) { return answer(refusal.status, refusal.headers, ""); });
    const std::string message = fetch().status().message();
    EXPECT_NE(message.find(refusal.said), std::string::npos) << message;
    EXPECT_EQ(server_->requests().size(), 1U);
  }
}

TEST_F(FetchModel, HostileAnswersAreRefused) {
  const std::string sha = std::string("\"sha\":\"") + kCommit + "\"";
  for (const std::string& list :
       {std::string("[]"), std::string("{"), "{" + sha + "}", "{" + sha + ",\"siblings\":[1]}",
        "{" + sha + ",\"siblings\":[{\"rfilename\":\"../config.json\"}]}",
        "{" + sha + ",\"siblings\":[{\"rfilename\":\"/etc/config.json\"}]}",
        "{" + sha + ",\"siblings\":[{\"rfilename\":\"config.json\\u0000\"}]}",
        std::string("{\"sha\":\"../../x\",\"siblings\":[]}")}) {
    serve([&](const ScriptedRequest&) { return answer(200, "", list); });
    EXPECT_EQ(fetch().status().code(), StatusCode::kInvalidArgument) << list;
  }
  for (const std::string& headers : {std::string("ETag: \"../../../x\"\r\n"),
                                     std::string("ETag: \"\"\r\n"), std::string("ETag: \".x\"\r\n"),
                                     std::string("X-Linked-Size: 99999999999999999\r\nETag: x\r\n"),
                                     std::string("ETag: x\r\nX-Repo-Commit: 0000\r\n")}) {
    serve_with([&](const ScriptedRequest& request) -> std::optional<std::string> {
      return request.method == "HEAD"
                 ? std::optional("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + headers + "\r\n")
                 : std::nullopt;
    });
    EXPECT_EQ(fetch().status().code(), StatusCode::kInvalidArgument) << headers;
  }
  EXPECT_FALSE(fs::exists(cache_ / "models--a--b/snapshots"));
}

TEST_F(FetchModel, FoldersThatAreLinksAreNotWrittenThrough) {
  files_["additional_chat_templates/tool_use.jinja"] = "x";
  const fs::path outside = cache_ / "outside";
  fs::create_directories(outside);
  fs::create_directories(cache_ / "models--a--b/snapshots" / kCommit);
  fs::create_directory_symlink(
      outside, cache_ / "models--a--b/snapshots" / kCommit / "additional_chat_templates");
  serve_with([](const ScriptedRequest&) { return std::nullopt; });
  EXPECT_EQ(fetch().status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(fs::is_empty(outside));
}

TEST_F(FetchModel, SaysWhenTheDiskHasNoRoom) {
  serve_with([&](const ScriptedRequest& request) -> std::optional<std::string> {
    return request.method == "HEAD"
               ? std::optional(
                     "HTTP/1.1 200 OK\r\nContent-Length: 4000000000000\r\nETag: x\r\n\r\n")
               : std::nullopt;
  });
  if (fs::space(fs::temp_directory_path()).available > 4'000'000'000'000U) {
    GTEST_SKIP() << "this disk has room for everything";
  }
  const Status status = fetch().status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("4.0 TB"), std::string::npos) << status.message();
}

TEST_F(FetchModel, OneProcessAtATimeDownloadsABlob) {
  const HubCache cache(cache_, "a/b");
  const fs::path path = cache_ / ".locks/models--a--b/x.lock";
  const auto is_free = [&] {
    const int fd = open(path.c_str(), O_RDWR);
    EXPECT_GE(fd, 0);
    const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return locked;
  };
  {
    const Result<FileLock> lock = cache.lock("x", "x");
    ASSERT_TRUE(lock.ok());
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
}

TEST_F(FetchModel, ShardsAndGgufFiles) {
  files_.erase("model.safetensors");
  files_["model.safetensors.index.json"] =
      R"({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}})";
  files_["m-1.safetensors"] = "1";
  files_["m-2.safetensors"] = "2";
  files_["consolidated.safetensors"] = "12";
  files_["x-Q8_0.gguf"] = "GGUF";
  serve_with([](const ScriptedRequest&) { return std::nullopt; });
  const Result<fs::path> folder = fetch();
  ASSERT_TRUE(folder.ok()) << folder.status().message();
  EXPECT_TRUE(fs::exists(*folder / "m-1.safetensors") && fs::exists(*folder / "m-2.safetensors"));
  EXPECT_FALSE(fs::exists(*folder / "consolidated.safetensors"));
  EXPECT_EQ(*weight_bytes({.repository = "a/b", .revision = "", .file = ""}, settings_, progress_,
                          policy_),
            2U);
  const Result<fs::path> gguf = fetch(FetchScope::kModel, "q8_0");
  ASSERT_TRUE(gguf.ok()) << gguf.status().message();
  EXPECT_EQ(gguf->filename(), "x-Q8_0.gguf");
  files_.erase("m-2.safetensors");
  EXPECT_EQ(fetch().status().code(), StatusCode::kNotFound);
}

TEST_F(FetchModel, AllPartsOfAGgufModelAreFetchedAndForTextTheFirst) {
  files_["x-F16-00001-of-00002.gguf"] = "GGUF one";
  files_["x-F16-00002-of-00002.gguf"] = "GGUF two";
  serve_with([](const ScriptedRequest&) { return std::nullopt; });
  const Result<fs::path> text = fetch(FetchScope::kText, "f16");
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(text->filename(), "x-F16-00001-of-00002.gguf");
  const fs::path second = text->parent_path() / "x-F16-00002-of-00002.gguf";
  EXPECT_FALSE(fs::exists(second));
  ASSERT_TRUE(fetch(FetchScope::kModel, "f16").ok());
  EXPECT_TRUE(fs::exists(second));
  files_.erase("x-F16-00002-of-00002.gguf");
  const Result<fs::path> incomplete = fetch(FetchScope::kModel, "f16");
  ASSERT_FALSE(incomplete.ok());
  EXPECT_NE(incomplete.status().message().find("names x-F16-00002-of-00002.gguf"),
            std::string::npos);
}

}  // namespace
}  // namespace godwit
