#include "hub/url.h"

#include <algorithm>
#include <charconv>

#include "hub/hub_name.h"

namespace godwit {
namespace {

constexpr std::size_t kLongestUrl = 16384;  // Signed URLs have some kilobytes.

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

Status wrong_url(std::string_view text) {
  const std::string_view shown = text.substr(0, text.find('?'));
  return invalid_argument("\"" + printable(shown) + "\" is no URL of http or https",
                          "write it as https://host or https://host:port");
}

/// Reads "host", "host:port" or "[address]:port".
bool parse_authority(std::string_view text, Url& url) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) {
      return false;
    }
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!std::all_of(host.begin(), host.end(),
                     [](char c) { return is_unreserved(c) || c == ':'; })) {
      return false;
    }
  } else {
    const std::size_t colon = text.find(':');
    host = text.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
    if (!std::all_of(host.begin(), host.end(), is_unreserved)) {
      return false;
    }
  }
  url.host = lower(host);
  if (!port.empty()) {
    port.remove_prefix(1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (error != std::errc() || end != port.data() + port.size() || url.port == 0) {
      return false;
    }
  }
  return !url.host.empty() && url.host.size() <= 253;
}

}  // namespace

bool Url::same_origin(const Url& other) const {
  return tls == other.tls && host == other.host && port == other.port;
}

bool Url::is_loopback() const {
  const bool dotted = std::all_of(host.begin(), host.end(),
                                  [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  return host == "localhost" || host == "::1" || (dotted && host.starts_with("127."));
}

std::string Url::authority() const {
  const std::string name = host.find(':') != std::string::npos ? "[" + host + "]" : host;
  return port == (tls ? 443 : 80) ? name : name + ":" + std::to_string(port);
}

std::string Url::shown() const {
  return (tls ? "https://" : "http://") + authority() +
         printable(target.substr(0, target.find('?')));
}

Result<Url> parse_url(std::string_view text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  const std::size_t scheme_end = text.find("://");
  if (!plain || text.size() > kLongestUrl || scheme_end == std::string_view::npos) {
    return wrong_url(text);
  }
  const std::string scheme = lower(text.substr(0, scheme_end));
  if (scheme != "http" && scheme != "https") {
    return wrong_url(text);
  }
  Url url;
  url.tls = scheme == "https";
  url.port = url.tls ? 443 : 80;
  std::string_view rest = text.substr(scheme_end + 3);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t authority_end = std::min(rest.find_first_of("/?"), rest.size());
  if (!parse_authority(rest.substr(0, authority_end), url)) {
    return wrong_url(text);
  }
  url.target = rest.substr(authority_end);
  if (!url.target.starts_with('/')) {
    url.target.insert(0, "/");
  }
  return url;
}

Result<Url> resolve_url(const Url& base, std::string_view reference) {
  const std::string_view path = reference.substr(0, reference.find_first_of("?#"));
  if (path.find("://") != std::string_view::npos) {
    return parse_url(reference);
  }
  const std::string scheme = base.tls ? "https:" : "http:";
  if (reference.starts_with("//")) {
    return parse_url(scheme + std::string(reference));
  }
  const std::string origin = scheme + "//" + base.authority();
  if (reference.starts_with('/')) {
    return parse_url(origin + std::string(reference));
  }
  const std::string_view base_path = std::string_view(base.target).substr(0, base.target.find('?'));
  const std::string_view folder = base_path.substr(0, base_path.rfind('/') + 1);
  return parse_url(origin + std::string(folder) + std::string(reference));
}

std::string encode_path(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    if (is_unreserved(c) || c == '/') {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 15U];
    }
  }
  return out;
}

}  // namespace godwit
