#pragma once
// Which path is answered by whom, and who may ask.

#include <memory>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "server/http.h"
#include "server/server_context.h"

namespace godwit {

/// The keys that clients must show as "Authorization: Bearer KEY". Compares digests, so that the
/// time taken tells nothing about a key.
class ApiKeys {
 public:
  /// Without keys everyone may ask.
  explicit ApiKeys(const std::vector<std::string>& keys);
  [[nodiscard]] bool admits(const HttpRequest& request) const;

 private:
  std::vector<Sha256Digest> digests_;
};

/// Finds the handler of a request. Answers 401, 404, 405 and `OPTIONS *`.
///
/// Threading: route() may run on any number of threads at once. `server` must outlive the router.
class Router {
 public:
  Router(ServerContext& server, const std::vector<std::string>& api_keys)
      : server_(server), keys_(api_keys) {}

  void route(std::shared_ptr<Exchange> exchange) const;

 private:
  ServerContext& server_;
  ApiKeys keys_;
};

}  // namespace godwit
