#include "server/http_server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/http_connection.h"

namespace godwit {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr milliseconds kAcceptRetry{100};

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
                          [this](error_code error, tcp::socket socket) {
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

  void admit(tcp::socket socket) {
    auto connection = std::make_shared<HttpConnection>(shared, std::move(socket));
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

  HttpShared shared;
  tcp::acceptor acceptor;
  asio::steady_timer retry;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::uint16_t port = 0;
  std::vector<std::thread> threads;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() {
  stop(milliseconds(0));
}

Result<std::unique_ptr<HttpServer>> HttpServer::create(const HttpServerOptions& options,
                                                       HttpHandler handler) {
  auto impl = std::make_unique<Impl>(options, std::move(handler));
  const std::string address = options.host + ":" + std::to_string(options.port);
  error_code error;
  tcp::resolver resolver(impl->shared.io);
  const auto endpoints =
      resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
  if (error || endpoints.empty()) {
    return invalid_argument("cannot find the address " + address + ": " + error.message(),
                            "give --host an address of this machine");
  }
  const tcp::endpoint endpoint = endpoints.begin()->endpoint();
  impl->acceptor.open(endpoint.protocol(), error);
  if (!error) {
    impl->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    impl->acceptor.bind(endpoint, error);
  }
  if (!error) {
    impl->acceptor.listen(asio::socket_base::max_listen_connections, error);
  }
  if (error) {
    return unavailable("cannot listen on " + address + ": " + error.message(),
                       "choose another --port, or end the program that uses it");
  }
  impl->port = impl->acceptor.local_endpoint(error).port();
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
