#pragma once
// A small HTTP/1.1 client for many requests at once on one thread: answers arrive in pieces, with
// callbacks. Each request has a connection of its own. No TLS: what is measured is the server.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace godwit {

/// Where a server listens.
struct HttpTarget {
  std::string host;    ///< A name or address, without brackets.
  std::string port;    ///< A decimal number.
  std::string prefix;  ///< Of every path, for example "/proxy"; without a slash at its end.
};

/// Reads "http://HOST[:PORT][/PREFIX]". Errors: kInvalidArgument; https is refused by name.
Result<HttpTarget> parse_base_url(std::string_view url);

struct HttpCall {
  std::string method = "POST";
  std::string path;  ///< Below the target's prefix.
  std::string body;  ///< JSON, when there is one.
  std::vector<std::pair<std::string, std::string>> headers;
  std::chrono::seconds timeout{600};  ///< Longest silence of the server.
};

/// Called on the thread of run(). After `ended` neither is called again.
struct HttpAnswerSink {
  std::function<void(std::string_view piece)> body;
  /// `status` is the answer's; 0 with an error of the connection.
  std::function<void(const Status& error, int status)> ended;
};

/// Threading: all calls from one thread.
class HttpLoop {
 public:
  explicit HttpLoop(HttpTarget target);
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  /// Starts a request; its answer comes while run() runs.
  void start(HttpCall call, HttpAnswerSink sink);
  /// Calls `action` after `delay`, while run() runs.
  void after(std::chrono::nanoseconds delay, std::function<void()> action);
  /// Returns when every request has ended and nothing more is due.
  void run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// One request and its whole answer, at most 64 MiB. Errors: kUnavailable when the server cannot be
/// reached; kInvalidArgument, with the server's words, when its answer is not 2xx.
Result<std::string> call_server(const HttpTarget& target, HttpCall call);

}  // namespace godwit
