#include "server/cors.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace godwit {
namespace {

using Names = std::vector<std::string>;

// Fetch standard: a page may always send these headers.
constexpr std::string_view kSafeHeaders[] = {"Accept", "Accept-Language", "Content-Language",
                                             "Content-Type"};
const char* const kEveryMethod = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";

bool holds(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool holds_ignoring_case(const Names& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& one) { return equal_ignoring_case(one, name); });
}

std::string join(const Names& names) {
  std::string out;
  for (const std::string& name : names) {
    out.append(out.empty() ? "" : ", ").append(name);
  }
  return out;
}

/// The names of a list such as "a, b"; spaces around them do not count.
Names split(std::string_view list) {
  Names names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, comma);
    const std::size_t begin = std::min(name.find_first_not_of(" \t"), name.size());
    names.emplace_back(name.substr(begin, name.find_last_not_of(" \t") + 1 - begin));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

}  // namespace

Cors::Cors(CorsOptions options)
    : options_(std::move(options)),
      all_origins_(holds(options_.origins, "*")),
      all_headers_(holds(options_.headers, "*")) {
  for (const std::string_view name : kSafeHeaders) {
    if (!holds_ignoring_case(options_.headers, name)) {
      options_.headers.emplace_back(name);
    }
  }
}

bool Cors::admits(const std::string& origin) const {
  return all_origins_ || holds(options_.origins, origin);
}

void Cors::permit(const HttpRequest& request, std::vector<HttpHeader>& headers) const {
  const std::string* origin = request.header("origin");
  if (origin == nullptr) {
    return;
  }
  // Browsers take no "*" for an answer to a request with credentials.
  if (all_origins_ && !options_.credentials) {
    headers.push_back({"Access-Control-Allow-Origin", "*"});
  } else {
    headers.push_back({"Vary", "Origin"});
    if (admits(*origin)) {
      headers.push_back({"Access-Control-Allow-Origin", *origin});
    }
  }
  if (options_.credentials) {
    headers.push_back({"Access-Control-Allow-Credentials", "true"});
  }
}

std::optional<HttpResponse> Cors::preflight(const HttpRequest& request) const {
  const std::string* origin = request.header("origin");
  const std::string* method = request.header("access-control-request-method");
  if (request.method != "OPTIONS" || origin == nullptr || method == nullptr) {
    return std::nullopt;
  }
  const std::string* wanted = request.header("access-control-request-headers");
  std::string refused = admits(*origin) ? "" : ", origin";
  const bool all_methods = holds(options_.methods, "*");
  if (!all_methods && !holds(options_.methods, *method)) {
    refused += ", method";
  }
  if (wanted != nullptr && !all_headers_) {
    const Names names = split(*wanted);
    if (!std::all_of(names.begin(), names.end(), [&](const std::string& name) {
          return holds_ignoring_case(options_.headers, name);
        })) {
      refused += ", headers";
    }
  }
  HttpResponse response{.content_type = "text/plain; charset=utf-8"};
  response.status = refused.empty() ? 200 : 400;
  response.body = refused.empty() ? "OK" : "Disallowed CORS " + refused.substr(2);
  response.headers = {
      {"Access-Control-Allow-Methods", all_methods ? kEveryMethod : join(options_.methods)},
      {"Access-Control-Max-Age", "600"}};
  if (!all_headers_) {
    response.headers.push_back({"Access-Control-Allow-Headers", join(options_.headers)});
  } else if (wanted != nullptr) {
    response.headers.push_back({"Access-Control-Allow-Headers", *wanted});
  }
  return response;
}

}  // namespace godwit
