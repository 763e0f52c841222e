#pragma once
// The socket that clients connect to: a TCP port, or a path in the file system.

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace godwit {

using StreamAcceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

/// Listens on the first address that `host` resolves to. Returns the port, which is the given one
/// unless that is 0. Errors: kInvalidArgument or kUnavailable naming the address and the reason.
Result<std::uint16_t> listen_on_port(boost::asio::io_context& io, const std::string& host,
                                     std::uint16_t port, StreamAcceptor& acceptor);

/// Listens on a Unix socket. A socket file that nobody listens on any more is replaced. Errors:
/// kInvalidArgument for a path that is too long or is no socket; kUnavailable when another program
/// listens there, or naming the system's reason.
Status listen_on_path(boost::asio::io_context& io, const std::string& path,
                      StreamAcceptor& acceptor);

/// Removes the file of a Unix socket; to be called before the socket is closed, so that the file is
/// surely not another program's.
void remove_socket_file(const std::string& path);

}  // namespace godwit
