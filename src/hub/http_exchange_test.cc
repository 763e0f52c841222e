#include "hub/http_exchange.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <unistd.h>

#include <gtest/gtest.h>

#include "hub/testing/scripted_server.h"

namespace godwit {
namespace {

using testing::answer;
using testing::Certificate;
using testing::make_certificate;
using testing::ScriptedRequest;
using testing::ScriptedServer;

class Collect final : public ResponseSink {
 public:
  Status begin(const HttpHead& head) override {
    head_ = head;
    return {};
  }
  Status write(std::string_view bytes) override {
    body_ += bytes;
    return {};
  }
  HttpHead head_;
  std::string body_;
};

Status get(const std::string& url, Collect& sink, std::string_view method = "GET") {
  const Result<Url> parsed = parse_url(url);
  EXPECT_TRUE(parsed.ok());
  return http_exchange({.method = method, .url = *parsed, .headers = {{"X-Test", "1"}}}, {}, sink);
}

/// Trusts one certificate while it lives.
class Trust {
 public:
  explicit Trust(const std::string& pem)
      : path_(std::filesystem::temp_directory_path() /
              ("godwit-trust-" + std::to_string(getpid()) + ".pem")) {
    std::ofstream(path_) << pem;
    setenv("SSL_CERT_FILE", path_.c_str(), 1);
  }
  Trust(const Trust&) = delete;
  Trust& operator=(const Trust&) = delete;
  ~Trust() {
    unsetenv("SSL_CERT_FILE");
    std::filesystem::remove(path_);
  }

 private:
  std::filesystem::path path_;
};

TEST(HttpExchange, SendsAndReads) {
  const ScriptedServer server(
      [](const ScriptedRequest&) { return answer(203, "X-Answer: yes\r\n", "hello"); });
  Collect sink;
  ASSERT_TRUE(get(server.url() + "/a%20b?c=d", sink).ok());
  EXPECT_EQ(sink.head_.status, 203);
  EXPECT_EQ(*sink.head_.find("x-answer"), "yes");
  EXPECT_EQ(sink.head_.number("Content-Length"), 5U);
  EXPECT_EQ(sink.body_, "hello");
  const std::vector<ScriptedRequest> requests = server.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].target, "/a%20b?c=d");
  EXPECT_EQ(requests[0].header("X-Test"), "1");
  EXPECT_EQ(requests[0].header("Accept-Encoding"), "identity");
}

TEST(HttpExchange, ReadsChunksAndBodiesThatEndWithTheConnection) {
  for (const std::string_view form :
       {"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "\r\nhello"}) {
    const ScriptedServer server(
        [&](const ScriptedRequest&) { return "HTTP/1.1 200 OK\r\n" + std::string(form); });
    Collect sink;
    ASSERT_TRUE(get(server.url(), sink).ok());
    EXPECT_EQ(sink.body_, "hello");
  }
}

TEST(HttpExchange, HeadHasNoBody) {
  const ScriptedServer server(
      [](const ScriptedRequest&) { return "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"; });
  Collect sink;
  ASSERT_TRUE(get(server.url(), sink, "HEAD").ok());
  EXPECT_EQ(sink.head_.number("Content-Length"), 7U);
}

TEST(HttpExchange, WhatCameBeforeABreakCounts) {
  const ScriptedServer server(
      [](const ScriptedRequest&) { return "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"; });
  Collect sink;
  const Status status = get(server.url(), sink);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.message();
  EXPECT_EQ(sink.body_, "hello");
}

TEST(HttpExchange, RefusesWhatIsNoHttpAndWhatItDidNotAskFor) {
  struct Case {
    std::string bytes;
    StatusCode code;
  };
  for (const Case& wrong :
       {Case{"SSH-2.0-OpenSSH_9.2\r\n\r\n", StatusCode::kInvalidArgument},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", StatusCode::kInvalidArgument},
        Case{"HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n",
             StatusCode::kInvalidArgument},
        Case{answer(200, "Content-Encoding: gzip\r\n", "x"), StatusCode::kInvalidArgument},
        Case{"", StatusCode::kUnavailable}}) {
    const ScriptedServer server([&](const ScriptedRequest&) { return wrong.bytes; });
    Collect sink;
    const Status status = get(server.url(), sink);
    EXPECT_EQ(status.code(), wrong.code) << status.message();
  }
}

TEST(HttpExchange, SaysWhenNobodyListensOrAnswers) {
  std::string gone;
  {
    const ScriptedServer server([](const ScriptedRequest&) { return std::string(); });
    gone = server.url();
  }
  Collect sink;
  EXPECT_EQ(get(gone, sink).code(), StatusCode::kUnavailable);
}

TEST(HttpExchange, ASilentServerIsGivenUp) {
  std::promise<void> given_up;
  const ScriptedServer server([&](const ScriptedRequest&) {
    given_up.get_future().wait();
    return std::string();
  });
  Collect sink;
  const HttpTimeouts hasty{.silence = std::chrono::milliseconds(20)};
  const Status status =
      http_exchange({.method = "GET", .url = *parse_url(server.url()), .headers = {}}, hasty, sink);
  given_up.set_value();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.message();
}

TEST(HttpExchange, TlsChecksAuthorityAndName) {
  const Certificate certificate = make_certificate("127.0.0.1");
  const ScriptedServer server([](const ScriptedRequest&) { return answer(200, "", "secret"); },
                              &certificate);
  Collect untrusted;
  const Status status = get(server.url(), untrusted);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
  EXPECT_NE(status.message().find("SSL_CERT_FILE"), std::string::npos) << status.message();

  const Trust trust(certificate.certificate);
  Collect sink;
  const Status trusted = get(server.url(), sink);
  ASSERT_TRUE(trusted.ok()) << trusted.message();
  EXPECT_EQ(sink.body_, "secret");

  Collect other_name;
  const Status wrong_name = get(server.url("localhost"), other_name);
  EXPECT_EQ(wrong_name.code(), StatusCode::kInvalidArgument) << wrong_name.message();
  EXPECT_EQ(other_name.body_, "");
}

}  // namespace
}  // namespace godwit
