#pragma once
// How a connection's bytes travel: over a bare socket, of TCP or of the Unix kind, or under TLS.
// What it carries is the connection's matter.

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace godwit {

using StreamSocket = boost::asio::generic::stream_protocol::socket;

/// One read and one write may be under way at a time. What `done` captures must keep the transport
/// alive; close() ends all that is under way with an error.
///
/// Threading: everything runs on the strand of the socket.
class Transport {
 public:
  using Done = std::function<void(boost::system::error_code)>;
  using Moved = std::function<void(boost::system::error_code, std::size_t)>;

  virtual ~Transport() = default;

  /// Makes the connection ready to carry bytes. Called once, before the rest.
  virtual void open(Done done) = 0;
  /// As boost::asio's async_read_some: the end of what the peer sends is asio::error::eof.
  virtual void read_some(boost::asio::mutable_buffer into, Moved moved) = 0;
  virtual void write_some(const std::vector<boost::asio::const_buffer>& from, Moved moved) = 0;
  /// Tells the peer that nothing more comes. Reading goes on.
  virtual void end_writing() = 0;
  /// Calls `done` when the peer is found to be gone; for a peer that has ended its side, which
  /// reading can tell nothing of any more.
  virtual void wait_for_loss(Done done) = 0;
  virtual void close() = 0;
};

/// Carries bytes as they are.
std::unique_ptr<Transport> make_plain_transport(StreamSocket socket);

}  // namespace godwit
