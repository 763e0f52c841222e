#pragma once
// The part of a URL that a client of http and https needs (RFC 3986).

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace godwit {

struct Url {
  bool tls = true;
  std::string host;  ///< Lower case; an IPv6 address without its brackets.
  std::uint16_t port = 443;
  std::string target = "/";  ///< Path and query, as they are sent.

  /// Same scheme, host and port: whom credentials for one may be shown to.
  [[nodiscard]] bool same_origin(const Url& other) const;
  /// The host is this machine: "localhost", 127.0.0.0/8 or ::1.
  [[nodiscard]] bool is_loopback() const;
  /// The value of the Host header.
  [[nodiscard]] std::string authority() const;
  /// Scheme, authority and path, without the query: queries of signed URLs are secrets.
  [[nodiscard]] std::string shown() const;
};

/// Parses an absolute URL. Errors: kInvalidArgument for another scheme, for user names in it, and
/// for what is no URL.
Result<Url> parse_url(std::string_view text);

/// What `reference` (a Location header) means beside `base`: an absolute URL, "//host/path",
/// "/path" or a path relative to the last '/'.
Result<Url> resolve_url(const Url& base, std::string_view reference);

/// Percent-encodes a path: '/' and unreserved characters stay.
std::string encode_path(std::string_view path);

}  // namespace godwit
