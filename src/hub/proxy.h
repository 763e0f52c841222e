#pragma once
// Which proxy stands between this machine and a host: the variables that curl and Python's clients
// read.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "hub/url.h"

namespace godwit {

struct HttpProxy {
  Url url;                    ///< Spoken to over plain http.
  std::string authorization;  ///< Value of Proxy-Authorization; empty for none.
};

/// Reads "http://[USER:PASSWORD@]HOST[:PORT]", or without the scheme. Errors: kInvalidArgument,
/// never with the password in it.
Result<HttpProxy> parse_proxy(std::string_view text);

struct HttpProxies {
  std::optional<HttpProxy> http;    ///< For http URLs.
  std::optional<HttpProxy> https;   ///< For https URLs, through a tunnel.
  std::vector<std::string> direct;  ///< Of NO_PROXY: "HOST", ".DOMAIN", "HOST:PORT" or "*".

  /// The proxy for a URL; null pointer for none.
  [[nodiscard]] const HttpProxy* find(const Url& url) const;
};

/// Reads https_proxy, http_proxy, all_proxy and no_proxy, of upper case when they are not set.
/// Errors: kInvalidArgument naming the variable.
Result<HttpProxies> read_proxies(const std::function<const char*(const char* name)>& environment);

}  // namespace godwit
