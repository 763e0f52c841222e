#pragma once
// Bytes to HTTP/1.1 requests: finds where a request ends and refuses what is none. Knows no socket.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http.h"

namespace godwit {

/// Why something never became a request.
struct HttpRefusal {
  int status = 400;
  std::string message;
};

struct RequestLimits {
  std::size_t max_header_bytes = 0;  ///< Of the head; of a chunk's head; of the trailer.
  std::size_t max_body_bytes = 0;
};

/// A request, and what its sender says of the connection.
struct ReceivedRequest {
  HttpRequest request;
  bool keep_alive = true;
  bool takes_chunks = true;  ///< HTTP/1.1 or later.
};

/// Reads one request after another. Which bytes come together makes no difference.
class RequestReader {
 public:
  explicit RequestReader(RequestLimits limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// Takes bytes up to the end of a request, or until one is refused, and returns how many; those
  /// left are to be given again with what follows them. Nothing is taken while complete() or
  /// refusal() holds.
  std::size_t read(std::string_view bytes);

  /// Whether a request has begun and is not complete.
  [[nodiscard]] bool started() const;
  /// Whether the head of the request that has begun was read.
  [[nodiscard]] bool has_head() const;
  /// Whether the sender waits for "100 Continue" before the body.
  [[nodiscard]] bool awaits_continue() const;
  [[nodiscard]] bool complete() const;
  /// Where the next request begins is not known after one was refused: reset() or give up.
  [[nodiscard]] const std::optional<HttpRefusal>& refusal() const { return refusal_; }

  /// The complete request; the reader is ready for the next. Fields of a chunked body's trailer
  /// are dropped: they must not pass for the head's.
  ReceivedRequest take();
  void reset();

 private:
  struct State;
  void check_head();

  RequestLimits limits_;
  std::unique_ptr<State> state_;
  std::optional<HttpRefusal> refusal_;
};

}  // namespace godwit
