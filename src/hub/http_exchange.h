#pragma once
// One request and its response over TCP or TLS, on the calling thread. No redirects, no retries.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "hub/proxy.h"
#include "hub/url.h"

namespace godwit {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpHead {
  int status = 0;
  HttpHeaders headers;
  /// Of any case; null pointer when there is none of that name.
  [[nodiscard]] const std::string* find(std::string_view name) const;
  /// The header as a number; nothing when it is absent or is none.
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const;
};

/// Takes a response in. What a function returns as an error ends the exchange with that error.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  virtual Status begin(const HttpHead& head) = 0;
  virtual Status write(std::string_view bytes) = 0;
};

struct HttpTimeouts {
  std::chrono::milliseconds connect{10'000};  ///< For TCP, and again for TLS.
  std::chrono::milliseconds silence{30'000};  ///< Without a byte from the server.
};

struct FetchRequest {
  std::string_view method;  ///< "GET" or "HEAD".
  Url url;
  HttpHeaders headers;               ///< Beside Host, User-Agent, Accept-Encoding and Connection.
  const HttpProxy* proxy = nullptr;  ///< Null for none. An https URL is reached through CONNECT.
};

/// TLS trusts the system's authorities (SSL_CERT_FILE and SSL_CERT_DIR choose others) and checks
/// the host's name. Errors: kUnavailable when another try may work (no connection, one that broke,
/// a silent server); kInvalidArgument for a wrong certificate or what is no HTTP; the sink's own.
Status http_exchange(const FetchRequest& request, const HttpTimeouts& timeouts, ResponseSink& sink);

}  // namespace godwit
