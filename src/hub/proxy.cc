#include "hub/proxy.h"

#include <algorithm>
#include <charconv>
#include <openssl/evp.h>

#include "hub/hub_name.h"

namespace godwit {
namespace {

constexpr std::size_t kLongestUser = 4096;

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

std::string decode_percent(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const bool coded = text[i] == '%' && i + 2 < text.size();
    if (coded && std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
                     text.data() + i + 3) {
      decoded += static_cast<char>(value);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::string basic_authorization(std::string_view user) {
  const std::string plain = decode_percent(user);
  std::string coded(4 * (plain.size() / 3 + 1) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(coded.data()),
                                   reinterpret_cast<const unsigned char*>(plain.data()),
                                   static_cast<int>(plain.size()));
  coded.resize(static_cast<std::size_t>(size));
  return "Basic " + coded;
}

bool is_direct(const std::string& entry, const Url& url) {
  if (entry == "*") {
    return true;
  }
  std::string_view name = entry;
  const std::string port = ":" + std::to_string(url.port);
  if (name.ends_with(port)) {
    name.remove_suffix(port.size());
  }
  if (name.starts_with('[') && name.ends_with(']')) {
    name = name.substr(1, name.size() - 2);
  }
  if (name.starts_with("*.")) {
    name.remove_prefix(1);
  }
  const std::string domain = (name.starts_with('.') ? "" : ".") + std::string(name);
  return !name.empty() && (url.host == name || ("." + url.host).ends_with(domain));
}

}  // namespace

Result<HttpProxy> parse_proxy(std::string_view text) {
  const std::size_t scheme = text.find("://");
  std::string_view rest = scheme == std::string_view::npos ? text : text.substr(scheme + 3);
  if (scheme != std::string_view::npos &&
      lower_case(std::string(text.substr(0, scheme))) != "http") {
    return invalid_argument("a proxy of the kind " + printable(text.substr(0, scheme)),
                            "godwit speaks to proxies as http://HOST:PORT");
  }
  HttpProxy proxy;
  const std::string_view authority = rest.substr(0, rest.find('/'));
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    if (at > kLongestUser) {
      return invalid_argument("the user of a proxy has " + std::to_string(at) + " characters");
    }
    proxy.authorization = basic_authorization(rest.substr(0, at));
    rest.remove_prefix(at + 1);
  }
  proxy.url = TRY(parse_url("http://" + std::string(rest)));
  return proxy;
}

const HttpProxy* HttpProxies::find(const Url& url) const {
  const std::optional<HttpProxy>& proxy = url.tls ? https : http;
  const bool near = std::any_of(direct.begin(), direct.end(),
                                [&](const std::string& entry) { return is_direct(entry, url); });
  return proxy && !near ? &*proxy : nullptr;
}

Result<HttpProxies> read_proxies(const std::function<const char*(const char* name)>& environment) {
  const auto variable = [&](const char* small, const char* large) {
    const char* value = environment(small);
    value = value == nullptr ? environment(large) : value;
    return std::string(value == nullptr ? "" : value);
  };
  const auto proxy = [&](const char* small, const char* large) -> Result<std::optional<HttpProxy>> {
    const std::string own = variable(small, large);
    const std::string text = own.empty() ? variable("all_proxy", "ALL_PROXY") : own;
    if (text.empty()) {
      return std::optional<HttpProxy>();
    }
    Result<HttpProxy> parsed = parse_proxy(text);
    if (!parsed.ok()) {
      return invalid_argument(std::string(own.empty() ? "ALL_PROXY" : large) + ": " +
                                  std::string(parsed.status().cause()),
                              std::string(parsed.status().remedy()));
    }
    return std::optional(std::move(parsed).value());
  };
  HttpProxies proxies;
  proxies.http = TRY(proxy("http_proxy", "HTTP_PROXY"));
  proxies.https = TRY(proxy("https_proxy", "HTTPS_PROXY"));
  const std::string list = lower_case(variable("no_proxy", "NO_PROXY"));
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(", ", begin), list.size());
    if (end > begin) {
      proxies.direct.push_back(list.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return proxies;
}

}  // namespace godwit
