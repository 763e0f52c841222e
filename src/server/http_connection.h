#pragma once
// One client of the HTTP server, on its socket. Only http_connection.cc and http_server.cc include
// this: Asio and Beast are slow to compile.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/http_server.h"

namespace godwit {

class HttpConnection;
class HttpExchange;

/// The exchanges' and connections' view of the server.
struct HttpShared {
  HttpServerOptions options;
  HttpHandler handler;
  boost::asio::io_context io;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex.
  std::unordered_map<HttpConnection*, std::weak_ptr<HttpConnection>> connections;
  bool draining = false;
  bool impatient = false;
};

/// One client. Everything runs on the strand of its socket.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(HttpShared& shared, boost::asio::ip::tcp::socket socket)
      : shared_(shared),
        socket_(std::move(socket)),
        read_timer_(socket_.get_executor()),
        write_timer_(socket_.get_executor()) {}
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  [[nodiscard]] auto executor() { return socket_.get_executor(); }

  void start(bool refuse);

  /// Closes after the running exchange; without one at once, and a request that has come in part is
  /// refused.
  void drain();

  /// The client is gone, or is given up: tells the exchange and closes.
  void lose();

  void send_response(const HttpResponse& response);
  void send_stream_head(const HttpResponse& head);
  void send_piece(std::string_view data);
  void finish_stream();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  void expect_within(std::chrono::milliseconds time);
  void on_read_timeout();
  void read();
  void on_read(boost::system::error_code error, std::size_t bytes);

  /// Feeds what has arrived to the parser, until a request is complete. Requests that arrive while
  /// one is answered stay in the buffer.
  void parse();
  /// Returns false when the head is refused.
  bool on_header();
  void reject_malformed(boost::system::error_code error);

  /// Answers what never became a request, and closes.
  void reject(int status, const std::string& message);
  void dispatch();
  void send(std::string bytes);
  void write();
  void on_written(boost::system::error_code error, std::size_t bytes);
  void on_all_written();

  /// Ends our side, and reads on for a while if more may come: closing a socket with unread bytes
  /// would reset the connection, and the client might lose the answer.
  void linger();
  void close_if_finished();
  void close();
  void end_exchange();

  HttpShared& shared_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer read_timer_;
  boost::asio::steady_timer write_timer_;
  std::vector<char> incoming_;       // Where the socket is read to.
  boost::beast::flat_buffer input_;  // Read and not yet taken.
  std::optional<Parser> parser_;
  std::deque<std::string> output_;
  std::size_t written_ = 0;  // of output_.front()
  std::size_t unsent_ = 0;
  std::weak_ptr<HttpExchange> exchange_;  // the one being answered
  bool busy_ = false;                     // a request was handed to the handler and is not answered
  bool reading_ = false;
  bool writing_ = false;
  bool interim_ = false;    // what is being written is a 100 Continue
  bool keep_alive_ = true;  // after the exchange
  bool draining_ = false;
  bool head_only_ = false;  // the request's method is HEAD
  bool chunked_ = false;
  bool rejected_ = false;  // in the middle of a request
  bool lingering_ = false;
  bool eof_ = false;
  bool closed_ = false;
};

}  // namespace godwit
