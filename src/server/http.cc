#include "server/http.h"

#include <algorithm>
#include <optional>

namespace godwit {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char letter = lower(c);
  if (letter >= 'a' && letter <= 'f') {
    return letter - 'a' + 10;
  }
  return std::nullopt;
}

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

const std::string* HttpRequest::header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (equal_ignoring_case(header.name, name)) {
      return &header.value;
    }
  }
  return nullptr;
}

std::string decode_path(std::string_view target) {
  target = target.substr(0, target.find_first_of("?#"));
  constexpr std::string_view kScheme = "http://";  // A client that takes us for a proxy names us.
  if (target.starts_with(kScheme)) {
    const std::size_t slash = target.find('/', kScheme.size());
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  std::string path;
  path.reserve(target.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == '%' && i + 2 < target.size()) {
      const auto high = hex_digit(target[i + 1]);
      const auto low = hex_digit(target[i + 2]);
      if (high && low) {
        path.push_back(static_cast<char>(*high * 16 + *low));
        i += 2;
        continue;
      }
    }
    path.push_back(target[i]);
  }
  return path;
}

}  // namespace godwit
