#include "server/transport.h"

#include <utility>

namespace godwit {
namespace {

using boost::system::error_code;

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(StreamSocket socket) : socket_(std::move(socket)) {}

  void open(Done done) override { done({}); }
  void read_some(boost::asio::mutable_buffer into, Moved moved) override {
    socket_.async_read_some(into, std::move(moved));
  }
  void write_some(const std::vector<boost::asio::const_buffer>& from, Moved moved) override {
    socket_.async_write_some(from, std::move(moved));
  }
  void end_writing() override {
    error_code ignored;
    socket_.shutdown(StreamSocket::shutdown_send, ignored);
  }
  void wait_for_loss(Done done) override {
    socket_.async_wait(StreamSocket::wait_error, std::move(done));
  }
  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  StreamSocket socket_;
};

}  // namespace

std::unique_ptr<Transport> make_plain_transport(StreamSocket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

}  // namespace godwit
