#pragma once
// Which pages of other origins may ask (cross-origin resource sharing). Answers as Starlette's
// middleware does, which vLLM uses.

#include <optional>
#include <string>
#include <vector>

#include "server/http.h"

namespace godwit {

struct CorsOptions {
  std::vector<std::string> origins = {"*"};  ///< "*" is all, here and below.
  std::vector<std::string> methods = {"*"};
  std::vector<std::string> headers = {"*"};
  bool credentials = false;
};

/// Threading: immutable.
class Cors {
 public:
  explicit Cors(CorsOptions options);

  /// The answer to a browser that asks whether it may ask; nothing for other requests.
  [[nodiscard]] std::optional<HttpResponse> preflight(const HttpRequest& request) const;
  /// Adds what lets the page that asked read the response.
  void permit(const HttpRequest& request, std::vector<HttpHeader>& headers) const;

 private:
  [[nodiscard]] bool admits(const std::string& origin) const;

  CorsOptions options_;
  bool all_origins_;
  bool all_headers_;
};

}  // namespace godwit
