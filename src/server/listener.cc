#include "server/listener.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstring>
#include <filesystem>

namespace godwit {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using local = asio::local::stream_protocol;

/// sockaddr_un holds so many bytes, with a zero behind them.
constexpr std::size_t kMaxPath = 107;

template <class Endpoint>
error_code listen(const Endpoint& endpoint, StreamAcceptor& acceptor) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) {
    acceptor.set_option(asio::socket_base::reuse_address(true), error);
    acceptor.bind(endpoint, error);
  }
  if (!error) {
    acceptor.listen(asio::socket_base::max_listen_connections, error);
  }
  if (error) {
    error_code ignored;
    acceptor.close(ignored);
  }
  return error;
}

/// Makes room for a socket file: removes what a program that was killed has left.
Status clear_path(asio::io_context& io, const std::string& path) {
  std::error_code error;
  const auto kind = std::filesystem::symlink_status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) {
    return {};
  }
  if (kind != std::filesystem::file_type::socket) {
    return invalid_argument("--uds " + path + " exists and is no socket", "choose another path");
  }
  local::socket probe(io);
  error_code refused;
  probe.connect(local::endpoint(path), refused);
  if (refused != asio::error::connection_refused) {
    return unavailable(
        "--uds " + path + (refused ? ": " + refused.message() : " is used by another program"),
        "choose another path, or end the program that uses it");
  }
  remove_socket_file(path);
  return {};
}

}  // namespace

Result<std::uint16_t> listen_on_port(asio::io_context& io, const std::string& host,
                                     std::uint16_t port, StreamAcceptor& acceptor) {
  const std::string address = host + ":" + std::to_string(port);
  error_code error;
  tcp::resolver resolver(io);
  const auto endpoints =
      resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error || endpoints.empty()) {
    return invalid_argument("cannot find the address " + address + ": " + error.message(),
                            "give --host an address of this machine");
  }
  const tcp::endpoint endpoint = endpoints.begin()->endpoint();
  error = listen(asio::generic::stream_protocol::endpoint(endpoint), acceptor);
  if (error) {
    return unavailable("cannot listen on " + address + ": " + error.message(),
                       "choose another --port, or end the program that uses it");
  }
  // A generic endpoint knows no port; the address of both kinds begins alike.
  tcp::endpoint bound;
  const auto generic = acceptor.local_endpoint(error);
  std::memcpy(bound.data(), generic.data(), std::min(generic.size(), bound.capacity()));
  return bound.port();
}

Status listen_on_path(asio::io_context& io, const std::string& path, StreamAcceptor& acceptor) {
  if (path.size() > kMaxPath || path.find('\0') != std::string::npos) {
    return invalid_argument("--uds is longer than " + std::to_string(kMaxPath) + " bytes",
                            "choose a shorter path");
  }
  TRY(clear_path(io, path));
  const error_code error =
      listen(asio::generic::stream_protocol::endpoint(local::endpoint(path)), acceptor);
  if (error) {
    return unavailable("cannot listen on " + path + ": " + error.message(),
                       "choose another --uds in a folder that exists and can be written");
  }
  return {};
}

void remove_socket_file(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

}  // namespace godwit
