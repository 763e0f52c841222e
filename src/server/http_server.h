#pragma once
// An HTTP/1.1 server: accepts, parses, keeps connections alive, answers in order, and notices when
// a client leaves. Built on Boost.Asio and Beast, which only http_server.cc sees.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/http.h"
#include "server/tls_options.h"

namespace godwit {

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8000;     ///< 0 takes any free port.
  std::string unix_socket = {};  ///< Path of a Unix socket to listen on instead of the port.
  TlsOptions tls = {};
  int threads = 2;
  std::size_t max_header_bytes = std::size_t{64} << 10;
  std::size_t max_body_bytes = std::size_t{32} << 20;
  /// Bytes of a stream that wait for a slow client before it counts as gone.
  std::size_t max_unsent_bytes = std::size_t{4} << 20;
  std::size_t max_connections = 4096;  ///< More are answered 503.
  std::chrono::milliseconds read_timeout{
      30'000};  ///< For a request's head; its body gets ten times it.
  std::chrono::milliseconds write_timeout{60'000};  ///< Without any progress.
  std::chrono::milliseconds idle_timeout{75'000};   ///< Between two requests.
};

/// Threading: the methods may be called from any thread; the handler runs on the server's threads.
class HttpServer {
 public:
  /// Binds and listens; nothing is accepted before start(). Errors: kInvalidArgument or
  /// kUnavailable naming the address and the system's reason, or the file that TLS cannot use.
  static Result<std::unique_ptr<HttpServer>> create(const HttpServerOptions& options,
                                                    HttpHandler handler);
  /// stop(0) when stop was not called.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void start();
  /// The port that is listened on; 0 for a Unix socket.
  [[nodiscard]] std::uint16_t port() const;

  /// Accepts no more, lets running exchanges finish for up to `patience`, interrupts the rest,
  /// disconnects who does not take what is said then, and joins the threads.
  void stop(std::chrono::milliseconds patience);
  /// Cuts the patience of a stop() that another thread waits in.
  void stop_now();

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace godwit
