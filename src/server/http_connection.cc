#include "server/http_connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/status.hpp>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "base/log.h"

namespace godwit {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using std::chrono::milliseconds;

/// Bytes read at once, and bytes of later requests that are read while one is answered.
constexpr std::size_t kReadAhead = std::size_t{16} << 10;
/// How long a client may go on sending after an answer that closes the connection.
constexpr milliseconds kLinger{2000};
constexpr const char* kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::string response_head(const HttpResponse& response, bool keep_alive, std::string_view length) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  const boost::beast::string_view reason =
      http::obsolete_reason(static_cast<http::status>(response.status));
  head.append(reason.data(), reason.size());
  head += "\r\n";
  if (!response.content_type.empty()) {
    head += "Content-Type: " + response.content_type + "\r\n";
  }
  for (const HttpHeader& header : response.headers) {
    head.append(header.name).append(": ").append(header.value).append("\r\n");
  }
  head += length;
  head += keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  return head;
}

std::string chunk(std::string_view data) {
  std::array<char, 20> size;
  const int digits = std::snprintf(size.data(), size.size(), "%zx\r\n", data.size());
  std::string out(size.data(), static_cast<std::size_t>(digits));
  out += data;
  out += "\r\n";
  return out;
}

}  // namespace

/// A handler's way to its connection; outlives it when the client leaves.
class HttpExchange final : public Exchange {
 public:
  HttpExchange(std::shared_ptr<HttpConnection> connection, HttpRequest request)
      : connection_(std::move(connection)), request_(std::move(request)) {}
  ~HttpExchange() override {
    // The last reference may go on any thread.
    if (connection_) {
      asio::post(connection_->executor(), [connection = connection_] {
        connection->send_response({.status = 500,
                                   .body = R"({"error":{"message":"the request was dropped",)"
                                           R"("type":"server_error","param":null,"code":null}})"});
      });
    }
  }
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  [[nodiscard]] HttpRequest& request() override { return request_; }

  void respond(HttpResponse response) override {
    if (const auto connection = detach()) {
      forget_callbacks();
      connection->send_response(response);
    }
  }
  void start_stream(HttpResponse head) override {
    if (connection_) {
      connection_->send_stream_head(head);
    }
  }
  void write(std::string data) override {
    // The connection may give the client up, which detaches this.
    if (const auto connection = connection_; connection && !data.empty()) {
      connection->send_piece(data);
    }
  }
  void finish() override {
    if (const auto connection = detach()) {
      forget_callbacks();
      connection->finish_stream();
    }
  }
  void on_disconnect(std::function<void()> callback) override {
    if (connection_) {
      disconnected_ = std::move(callback);
    } else {
      callback();
    }
  }
  void on_interrupt(std::function<void()> callback) override { interrupted_ = std::move(callback); }
  void post(std::function<void()> function) override {
    const std::lock_guard lock(mutex_);
    if (connection_) {
      asio::post(connection_->executor(),
                 [connection = connection_, function = std::move(function)] {
                   try {
                     function();
                   } catch (const std::exception& fault) {
                     log::error("an answer failed: {}", fault.what());
                     connection->lose();
                   }
                 });
    }
  }

  /// Lets the handler end its answer; false when it has not said how.
  bool interrupt() {
    const auto callback = std::exchange(interrupted_, nullptr);
    if (callback) {
      callback();
    }
    return callback != nullptr;
  }
  void disconnect() {
    detach();
    interrupted_ = nullptr;
    if (const auto callback = std::exchange(disconnected_, nullptr)) {
      callback();
    }
  }

 private:
  std::shared_ptr<HttpConnection> detach() {
    const std::lock_guard lock(mutex_);
    return std::exchange(connection_, nullptr);
  }

  void forget_callbacks() {
    disconnected_ = nullptr;
    interrupted_ = nullptr;
  }

  std::mutex mutex_;  // guards connection_ between post() and detach()
  std::shared_ptr<HttpConnection> connection_;
  HttpRequest request_;
  std::function<void()> disconnected_;
  std::function<void()> interrupted_;
};

HttpConnection::~HttpConnection() {
  const std::lock_guard lock(shared_.mutex);
  shared_.connections.erase(this);
  shared_.changed.notify_all();
}

void HttpConnection::start(bool refuse) {
  if (closed_) {
    return;
  }
  expect_within(shared_.options.read_timeout);
  transport_->open([self = shared_from_this(), refuse](error_code error) {
    if (self->closed_) {
      return;
    }
    if (error) {
      log::debug("a client could not begin: {}", error.message());
      self->close();
      return;
    }
    if (refuse) {
      self->reject(503, "too many connections");
    } else {
      self->expect_within(self->shared_.options.idle_timeout);
    }
    self->read();
  });
}

void HttpConnection::drain() {
  keep_alive_ = false;
  draining_ = true;
  if (busy_ || writing_) {
    return;
  }
  if (reader_.started()) {  // Whatever it is going to ask, nothing new is taken.
    reject(503, "the server is shutting down");
  } else {
    close();
  }
}

void HttpConnection::interrupt() {
  const auto exchange = exchange_.lock();
  const bool goes_on = exchange != nullptr ? exchange->interrupt() : writing_;
  if (!goes_on) {
    lose();
  }
}

void HttpConnection::expect_within(milliseconds time) {
  read_timer_.expires_after(time);
  read_timer_.async_wait([self = shared_from_this()](error_code error) {
    if (!error && self->read_timer_.expiry() <= std::chrono::steady_clock::now()) {
      self->on_read_timeout();
    }
  });
}

void HttpConnection::on_read_timeout() {
  if (reader_.started() && !lingering_ && !writing_) {
    reject(408, "the request did not arrive in time");
  } else {
    lose();
  }
}

void HttpConnection::read() {
  if (reading_ || eof_ || closed_ ||
      input_.size() >= kReadAhead + shared_.options.max_header_bytes) {
    return;
  }
  reading_ = true;
  // Not into input_ itself, which may be taken from while this waits.
  incoming_.resize(kReadAhead);
  transport_->read_some(asio::buffer(incoming_),
                        [self = shared_from_this()](error_code error, std::size_t bytes) {
                          self->reading_ = false;
                          self->on_read(error, bytes);
                        });
}

void HttpConnection::on_read(error_code error, std::size_t bytes) {
  if (closed_) {
    return;
  }
  if (error) {
    if (error == asio::error::eof) {
      on_end();
    } else {
      lose();
    }
    return;
  }
  if (lingering_) {
    read();
    return;
  }
  input_.commit(asio::buffer_copy(input_.prepare(bytes), asio::buffer(incoming_, bytes)));
  parse();
  read();
}

void HttpConnection::on_end() {
  eof_ = true;
  if (lingering_) {
    close();
    return;
  }
  if (!busy_) {
    parse();
    close_if_finished();
    return;
  }
  watch_for_loss();
}

void HttpConnection::watch_for_loss() {
  if (!std::exchange(watching_, true)) {
    transport_->wait_for_loss([self = shared_from_this()](error_code error) {
      if (error != asio::error::operation_aborted) {
        self->lose();
      }
    });
  }
  if (writing_) {
    return;
  }
  if (streaming_ && !blank_.empty()) {
    send_piece(blank_);
  } else if (!streaming_ && chunked_) {
    send(kContinue);
  } else {
    lose();  // HTTP/1.0 knows no interim answers.
  }
}

void HttpConnection::parse() {
  while (!busy_ && !writing_ && !closed_ && !lingering_ && input_.size() > 0) {
    if (!reader_.started()) {
      expect_within(shared_.options.read_timeout);
    }
    const bool had_head = reader_.has_head();
    const asio::const_buffer bytes = input_.cdata();
    const std::size_t taken = reader_.read({static_cast<const char*>(bytes.data()), bytes.size()});
    input_.consume(taken);
    if (reader_.refusal()) {
      const HttpRefusal refusal = *reader_.refusal();
      reject(refusal.status, refusal.message);
      return;
    }
    if (reader_.complete()) {
      dispatch();
      return;
    }
    if (!had_head && reader_.has_head()) {
      expect_within(shared_.options.read_timeout * 10);
      if (reader_.awaits_continue()) {
        interim_ = true;
        send(kContinue);
      }
    }
    if (taken == 0) {
      return;
    }
  }
}

void HttpConnection::reject(int status, const std::string& message) {
  log::debug("a request is refused with {}: {}", status, message);
  reader_.reset();
  rejected_ = true;
  keep_alive_ = false;
  head_only_ = false;
  HttpResponse response{.status = status};
  response.body = R"({"error":{"message":")" + message +
                  R"(","type":"invalid_request_error","param":null,"code":null}})";
  send_response(response);
}

void HttpConnection::send(std::string bytes) {
  if (closed_ || bytes.empty()) {
    return;
  }
  unsent_ += bytes.size();
  output_.push_back(std::move(bytes));
  if (!writing_) {
    writing_ = true;
    write();
  }
}

void HttpConnection::write() {
  constexpr std::size_t kBuffersAtOnce = 16;
  std::vector<asio::const_buffer> buffers;
  for (std::size_t i = 0; i < std::min(output_.size(), kBuffersAtOnce); ++i) {
    buffers.emplace_back(asio::buffer(output_[i]));
  }
  buffers.front() += written_;
  write_timer_.expires_after(shared_.options.write_timeout);
  write_timer_.async_wait([self = shared_from_this()](error_code error) {
    if (!error && self->writing_ &&
        self->write_timer_.expiry() <= std::chrono::steady_clock::now()) {
      self->lose();
    }
  });
  transport_->write_some(buffers, [self = shared_from_this()](error_code error, std::size_t bytes) {
    self->on_written(error, bytes);
  });
}

void HttpConnection::on_written(error_code error, std::size_t bytes) {
  if (closed_) {
    return;
  }
  if (error) {
    lose();
    return;
  }
  unsent_ -= bytes;
  written_ += bytes;
  while (!output_.empty() && written_ >= output_.front().size()) {
    written_ -= output_.front().size();
    output_.pop_front();
  }
  if (!output_.empty()) {
    write();
    return;
  }
  writing_ = false;
  write_timer_.cancel();
  on_all_written();
}

void HttpConnection::on_all_written() {
  if (busy_) {
    return;
  }
  if (interim_) {  // The request itself is still to come.
    interim_ = false;
  } else if (!keep_alive_) {
    linger();
    return;
  } else {
    expect_within(shared_.options.idle_timeout);
  }
  parse();
  close_if_finished();
  read();
}

void HttpConnection::linger() {
  transport_->end_writing();
  if (eof_ || (!rejected_ && input_.size() == 0)) {
    close();
    return;
  }
  lingering_ = true;
  input_.clear();
  expect_within(kLinger);
  read();
}

void HttpConnection::close_if_finished() {
  if (eof_ && !busy_ && !writing_) {
    close();
  }
}

void HttpConnection::close() {
  closed_ = true;
  transport_->close();
  read_timer_.cancel();
  write_timer_.cancel();
  reader_.reset();
}

void HttpConnection::end_exchange() {
  busy_ = false;
  streaming_ = false;
  exchange_.reset();
}

void HttpConnection::lose() {
  if (closed_) {
    return;
  }
  const auto exchange = exchange_.lock();
  end_exchange();
  close();
  if (exchange) {
    exchange->disconnect();
  }
}

void HttpConnection::dispatch() {
  ReceivedRequest received = reader_.take();
  read_timer_.cancel();
  keep_alive_ = received.keep_alive && !draining_;
  head_only_ = received.request.method == "HEAD";
  chunked_ = received.takes_chunks;
  busy_ = true;
  const auto exchange =
      std::make_shared<HttpExchange>(shared_from_this(), std::move(received.request));
  exchange_ = exchange;
  try {
    shared_.handler(exchange);
  } catch (const std::exception& fault) {
    log::error("a handler failed on {}: {}", exchange->request().path, fault.what());
    exchange->respond({.status = 500,
                       .body = R"({"error":{"message":"internal error","type":"server_error",)"
                               R"("param":null,"code":null}})"});
  }
  if (eof_ && busy_) {
    watch_for_loss();
  }
}

void HttpConnection::send_response(const HttpResponse& response) {
  end_exchange();
  std::string bytes = response_head(
      response, keep_alive_, "Content-Length: " + std::to_string(response.body.size()) + "\r\n");
  if (!head_only_) {
    bytes += response.body;
  }
  send(std::move(bytes));
}

void HttpConnection::send_stream_head(const HttpResponse& head) {
  keep_alive_ = keep_alive_ && chunked_;
  streaming_ = true;
  blank_ = head.blank;
  send(response_head(head, keep_alive_, chunked_ ? "Transfer-Encoding: chunked\r\n" : ""));
}

void HttpConnection::send_piece(std::string_view data) {
  send(chunked_ ? chunk(data) : std::string(data));
  if (unsent_ > shared_.options.max_unsent_bytes) {
    log::warning("a client reads too slowly: {} bytes wait for it; its request is dropped",
                 unsent_);
    lose();
  }
}

void HttpConnection::finish_stream() {
  end_exchange();
  if (chunked_) {
    send("0\r\n\r\n");
  } else if (!writing_) {
    on_all_written();
  }
}

}  // namespace godwit
