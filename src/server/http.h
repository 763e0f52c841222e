#pragma once
// What a handler knows of HTTP: plain requests and responses, and the exchange of one for the
// other. Sockets are http_server.cc's matter.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace godwit {

struct HttpHeader {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method;  ///< "GET", "POST", ...
  std::string path;    ///< Percent-decoded, without the query.
  std::vector<HttpHeader> headers;
  std::string body;
  std::string id = {};  ///< X-Request-Id, or a random one; set by Edge.

  /// Finds a header, whatever its case; null pointer when absent.
  [[nodiscard]] const std::string* header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<HttpHeader> headers = {};
  std::string body = {};
  /// Of a stream: a piece that says nothing, sent to find out whether a client that has ended its
  /// side is still there. Without one such a client counts as gone.
  std::string blank = {};
};

/// Compares ASCII texts such as header names.
bool equal_ignoring_case(std::string_view a, std::string_view b);

/// Takes the path, percent-decoded, out of a request's target: drops the query, and the scheme and
/// host of an absolute target.
std::string decode_path(std::string_view target);

/// One request and the way back to its client. A handler answers it once: with respond(), or with
/// start_stream(), any number of write() and finish(). An exchange that is let go unanswered
/// answers 500.
///
/// Threading: the handler, functions given to post() and the disconnect callback run one at a time,
/// on the exchange's own thread; all methods but post() belong there.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// What is asked. Whoever hands the exchange on may rewrite it.
  [[nodiscard]] virtual HttpRequest& request() = 0;

  /// Sends a whole response.
  virtual void respond(HttpResponse response) = 0;
  /// Sends the head of a response whose body comes piece by piece; `head.body` is not used.
  virtual void start_stream(HttpResponse head) = 0;
  /// Sends a piece. A client that reads too slowly to keep up counts as disconnected.
  virtual void write(std::string data) = 0;
  /// Ends the stream.
  virtual void finish() = 0;

  /// Sets what is called, at most once, when the client leaves before its answer is complete. What
  /// is sent after that is dropped. Called soon when the client has left already.
  virtual void on_disconnect(std::function<void()> callback) = 0;

  /// Sets what is called, at most once, when the server stops and waits no longer: it ends the
  /// answer at once. Without it the client is disconnected.
  virtual void on_interrupt(std::function<void()> callback) = 0;

  /// Runs a function on the exchange's thread. Any thread may call. Dropped after a disconnect.
  virtual void post(std::function<void()> function) = 0;
};

using HttpHandler = std::function<void(std::shared_ptr<Exchange>)>;

}  // namespace godwit
