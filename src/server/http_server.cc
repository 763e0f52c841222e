#include "server/http_server.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/http_connection.h"
#include "server/listener.h"
#include "server/tls.h"

namespace godwit {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr milliseconds kAcceptRetry{100};
/// How long an interrupted answer may take to reach its client.
constexpr milliseconds kLastWords{1000};

}  // namespace

struct HttpServer::Impl {
  explicit Impl(const HttpServerOptions& options, HttpHandler handler)
      : acceptor(asio::make_strand(shared.io)),
        retry(acceptor.get_executor()),
        work(asio::make_work_guard(shared.io)) {
    shared.options = options;
    shared.handler = std::move(handler);
  }

  void accept() {
    acceptor.async_accept(asio::make_strand(shared.io),
                          [this](error_code error, StreamSocket socket) {
                            if (!acceptor.is_open()) {
                              return;
                            }
                            if (error) {
                              // Mostly a lack of file descriptors; it passes as connections end.
                              log::warning("cannot accept a connection: {}", error.message());
                              retry.expires_after(kAcceptRetry);
                              retry.async_wait([this](error_code cancelled) {
                                if (!cancelled) {
                                  accept();
                                }
                              });
                              return;
                            }
                            admit(std::move(socket));
                            accept();
                          });
  }

  void admit(StreamSocket socket) {
    error_code ignored;  // A Unix socket has no such option.
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    const asio::any_io_executor strand = socket.get_executor();
    auto connection = std::make_shared<HttpConnection>(
        shared,
        tls ? tls->make_transport(std::move(socket)) : make_plain_transport(std::move(socket)),
        strand);
    bool refuse = false;
    {
      const std::lock_guard lock(shared.mutex);
      if (shared.draining) {
        return;
      }
      refuse = shared.connections.size() >= shared.options.max_connections;
      shared.connections.emplace(connection.get(), connection);
    }
    asio::post(connection->executor(), [connection, refuse] { connection->start(refuse); });
  }

  template <class Action>
  void for_each_connection(const Action& action) {
    std::vector<std::shared_ptr<HttpConnection>> alive;
    {
      const std::lock_guard lock(shared.mutex);
      for (const auto& [key, weak] : shared.connections) {
        if (auto connection = weak.lock()) {
          alive.push_back(std::move(connection));
        }
      }
    }
    for (const auto& connection : alive) {
      asio::post(connection->executor(), [connection, action] { action(*connection); });
    }
  }

  std::shared_ptr<const TlsContext> tls;  // null: none; the connections of `shared` use it
  HttpShared shared;
  StreamAcceptor acceptor;
  asio::steady_timer retry;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::uint16_t port = 0;
  std::string socket_file;  // of a Unix socket
  std::vector<std::thread> threads;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() {
  stop(milliseconds(0));
}

Result<std::unique_ptr<HttpServer>> HttpServer::create(const HttpServerOptions& options,
                                                       HttpHandler handler) {
  auto impl = std::make_unique<Impl>(options, std::move(handler));
  if (!options.tls.certificate_file.empty()) {
    impl->tls = TRY(TlsContext::create(options.tls));
  }
  boost::asio::io_context& io = impl->shared.io;
  if (options.unix_socket.empty()) {
    impl->port = TRY(listen_on_port(io, options.host, options.port, impl->acceptor));
  } else {
    TRY(listen_on_path(io, options.unix_socket, impl->acceptor));
    impl->socket_file = options.unix_socket;
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

void HttpServer::start() {
  impl_->accept();
  for (int i = 0; i < std::max(1, impl_->shared.options.threads); ++i) {
    impl_->threads.emplace_back([this] { impl_->shared.io.run(); });
  }
}

std::uint16_t HttpServer::port() const {
  return impl_->port;
}

void HttpServer::stop(milliseconds patience) {
  HttpShared& shared = impl_->shared;
  if (impl_->threads.empty()) {
    return;
  }
  if (!impl_->socket_file.empty()) {
    remove_socket_file(impl_->socket_file);
  }
  asio::post(impl_->acceptor.get_executor(), [this] {
    error_code ignored;
    impl_->acceptor.close(ignored);
    impl_->retry.cancel();
  });
  {
    const std::lock_guard lock(shared.mutex);
    shared.draining = true;
  }
  impl_->for_each_connection([](HttpConnection& connection) { connection.drain(); });
  {
    std::unique_lock lock(shared.mutex);
    shared.changed.wait_for(lock, patience,
                            [&] { return shared.connections.empty() || shared.impatient; });
  }
  impl_->for_each_connection([](HttpConnection& connection) { connection.interrupt(); });
  {
    std::unique_lock lock(shared.mutex);
    shared.changed.wait_for(lock, kLastWords, [&] { return shared.connections.empty(); });
  }
  impl_->for_each_connection([](HttpConnection& connection) { connection.lose(); });
  impl_->work.reset();
  for (std::thread& thread : impl_->threads) {
    thread.join();
  }
  impl_->threads.clear();
}

void HttpServer::stop_now() {
  const std::lock_guard lock(impl_->shared.mutex);
  impl_->shared.impatient = true;
  impl_->shared.changed.notify_all();
}

}  // namespace godwit
