#include "server/http_connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "base/log.h"

namespace godwit {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

/// Bytes read at once, and bytes of later requests that are read while one is answered.
constexpr std::size_t kReadAhead = std::size_t{16} << 10;
/// How long a client may go on sending after an answer that closes the connection.
constexpr milliseconds kLinger{2000};

std::string response_head(const HttpResponse& response, const HttpServerOptions& options,
                          bool keep_alive, std::string_view length) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  const boost::beast::string_view reason =
      http::obsolete_reason(static_cast<http::status>(response.status));
  head.append(reason.data(), reason.size());
  head += "\r\n";
  if (!response.content_type.empty()) {
    head += "Content-Type: " + response.content_type + "\r\n";
  }
  for (const auto* headers : {&options.headers, &response.headers}) {
    for (const HttpHeader& header : *headers) {
      head.append(header.name).append(": ").append(header.value).append("\r\n");
    }
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

  [[nodiscard]] const HttpRequest& request() const override { return request_; }

  void respond(HttpResponse response) override {
    if (const auto connection = detach()) {
      disconnected_ = nullptr;
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
      disconnected_ = nullptr;
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

  void disconnect() {
    detach();
    if (const auto callback = std::exchange(disconnected_, nullptr)) {
      callback();
    }
  }

 private:
  std::shared_ptr<HttpConnection> detach() {
    const std::lock_guard lock(mutex_);
    return std::exchange(connection_, nullptr);
  }

  std::mutex mutex_;  // guards connection_ between post() and detach()
  std::shared_ptr<HttpConnection> connection_;
  HttpRequest request_;
  std::function<void()> disconnected_;
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
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  if (refuse) {
    reject(503, "too many connections");
    read();
    return;
  }
  expect_within(shared_.options.idle_timeout);
  read();
}

void HttpConnection::drain() {
  keep_alive_ = false;
  draining_ = true;
  if (busy_ || writing_) {
    return;
  }
  if (parser_) {  // Whatever it is going to ask, nothing new is taken.
    reject(503, "the server is shutting down");
  } else {
    close();
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
  if (parser_ && !lingering_ && !writing_) {
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
  socket_.async_read_some(asio::buffer(incoming_),
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
    eof_ = true;
    // A client that has closed its side wants no answer that is still to be computed.
    if (busy_ || error != asio::error::eof || lingering_) {
      lose();
    } else {
      parse();
      close_if_finished();
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

void HttpConnection::parse() {
  while (!busy_ && !writing_ && !closed_ && !lingering_ && input_.size() > 0) {
    if (!parser_) {
      parser_.emplace();
      parser_->header_limit(static_cast<std::uint32_t>(shared_.options.max_header_bytes));
      parser_->body_limit(shared_.options.max_body_bytes);
      parser_->eager(true);
      expect_within(shared_.options.read_timeout);
    }
    const bool had_header = parser_->is_header_done();
    error_code error;
    const std::size_t used = parser_->put(input_.data(), error);
    input_.consume(used);
    if (error && error != http::error::need_more) {
      reject_malformed(error);
      return;
    }
    if (!had_header && parser_->is_header_done() && !on_header()) {
      return;
    }
    if (parser_->is_done()) {
      dispatch();
      return;
    }
    if (used == 0 || error == http::error::need_more) {
      return;
    }
  }
}

bool HttpConnection::on_header() {
  // Where a body in a foreign coding ends is not known; what follows could be taken for a request.
  if (parser_->get().count(http::field::transfer_encoding) > 0 && !parser_->chunked()) {
    reject(501, "the only transfer encoding here is chunked");
    return false;
  }
  // RFC 9112, section 3.2.
  if (parser_->get().version() >= 11 && parser_->get().count(http::field::host) != 1) {
    reject(400, "an HTTP/1.1 request names its host, once");
    return false;
  }
  expect_within(shared_.options.read_timeout * 10);
  const auto expect = parser_->get().find(http::field::expect);
  if (expect != parser_->get().end() && !parser_->is_done() &&
      boost::beast::iequals(expect->value(), "100-continue")) {
    interim_ = true;
    send("HTTP/1.1 100 Continue\r\n\r\n");
  }
  return true;
}

void HttpConnection::reject_malformed(error_code error) {
  if (error == http::error::body_limit) {
    reject(413,
           "the body is larger than " + std::to_string(shared_.options.max_body_bytes) + " bytes");
  } else if (error == http::error::header_limit) {
    reject(431, "the head is larger than " + std::to_string(shared_.options.max_header_bytes) +
                    " bytes");
  } else {
    reject(400, "this is no HTTP request: " + error.message());
  }
}

void HttpConnection::reject(int status, const std::string& message) {
  parser_.reset();
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
  socket_.async_write_some(buffers,
                           [self = shared_from_this()](error_code error, std::size_t bytes) {
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
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
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
  error_code ignored;
  socket_.close(ignored);
  read_timer_.cancel();
  write_timer_.cancel();
  output_.clear();
  parser_.reset();
}

void HttpConnection::end_exchange() {
  busy_ = false;
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
  http::request<http::string_body> message = parser_->release();
  parser_.reset();
  read_timer_.cancel();
  HttpRequest request{.method = std::string(message.method_string()),
                      .path = decode_path({message.target().data(), message.target().size()}),
                      .headers = {},
                      .body = std::move(message.body())};
  for (const auto& field : message) {
    request.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  }
  keep_alive_ = message.keep_alive() && !draining_;
  head_only_ = request.method == "HEAD";
  chunked_ = message.version() >= 11;
  busy_ = true;
  const auto exchange = std::make_shared<HttpExchange>(shared_from_this(), std::move(request));
  exchange_ = exchange;
  try {
    shared_.handler(exchange);
  } catch (const std::exception& fault) {
    log::error("a handler failed on {}: {}", exchange->request().path, fault.what());
    exchange->respond({.status = 500,
                       .body = R"({"error":{"message":"internal error","type":"server_error",)"
                               R"("param":null,"code":null}})"});
  }
}

void HttpConnection::send_response(const HttpResponse& response) {
  end_exchange();
  std::string bytes =
      response_head(response, shared_.options, keep_alive_,
                    "Content-Length: " + std::to_string(response.body.size()) + "\r\n");
  if (!head_only_) {
    bytes += response.body;
  }
  send(std::move(bytes));
}

void HttpConnection::send_stream_head(const HttpResponse& head) {
  keep_alive_ = keep_alive_ && chunked_;
  send(response_head(head, shared_.options, keep_alive_,
                     chunked_ ? "Transfer-Encoding: chunked\r\n" : ""));
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
