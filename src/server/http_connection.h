#pragma once
// One client of the HTTP server, on its socket. Only http_connection.cc and http_server.cc include
// this: Asio and Beast are slow to compile.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/http_server.h"
#include "server/request_reader.h"
#include "server/transport.h"

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

/// One client. Everything runs on its strand.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// `strand` is the executor of the transport's socket.
  HttpConnection(HttpShared& shared, std::unique_ptr<Transport> transport,
                 const boost::asio::any_io_executor& strand)
      : shared_(shared),
        transport_(std::move(transport)),
        strand_(strand),
        read_timer_(strand),
        write_timer_(strand),
        reader_({.max_header_bytes = shared.options.max_header_bytes,
                 .max_body_bytes = shared.options.max_body_bytes}) {}
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  [[nodiscard]] const boost::asio::any_io_executor& executor() const { return strand_; }

  void start(bool refuse);

  /// Closes after the running exchange; without one at once, and a request that has come in part is
  /// refused.
  void drain();

  /// Ends the running exchange now: its handler may say a last word, else the client is left. An
  /// answer that is complete goes on.
  void interrupt();

  /// The client is gone, or is given up: tells the exchange and closes.
  void lose();

  void send_response(const HttpResponse& response);
  void send_stream_head(const HttpResponse& head);
  void send_piece(std::string_view data);
  void finish_stream();

 private:
  void expect_within(std::chrono::milliseconds time);
  void on_read_timeout();
  void read();
  void on_read(boost::system::error_code error, std::size_t bytes);
  /// The client has ended its side.
  void on_end();
  /// A client that has gone looks like one that only sends no more; what we write tells them apart,
  /// because who has gone refuses it. An answer that has not begun is preceded by an interim one.
  void watch_for_loss();

  /// Feeds what has arrived to the reader, until a request is complete. Requests that arrive while
  /// one is answered stay in the buffer.
  void parse();

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
  std::unique_ptr<Transport> transport_;
  boost::asio::any_io_executor strand_;
  boost::asio::steady_timer read_timer_;
  boost::asio::steady_timer write_timer_;
  std::vector<char> incoming_;       // Where the socket is read to.
  boost::beast::flat_buffer input_;  // Read and not yet taken.
  RequestReader reader_;
  std::deque<std::string> output_;
  std::size_t written_ = 0;  // of output_.front()
  std::size_t unsent_ = 0;
  std::weak_ptr<HttpExchange> exchange_;  // the one being answered
  std::string blank_;                     // of the stream that is being sent
  bool busy_ = false;                     // a request was handed to the handler and is not answered
  bool reading_ = false;
  bool writing_ = false;
  bool interim_ = false;    // what is being written is a 100 Continue, for a body to come
  bool streaming_ = false;  // the head of a streamed answer was sent
  bool keep_alive_ = true;  // after the exchange
  bool draining_ = false;
  bool head_only_ = false;  // the request's method is HEAD
  bool chunked_ = false;
  bool rejected_ = false;  // in the middle of a request
  bool lingering_ = false;
  bool eof_ = false;       // nothing more comes
  bool watching_ = false;  // for the loss of a client that sends no more
  bool closed_ = false;
};

}  // namespace godwit
