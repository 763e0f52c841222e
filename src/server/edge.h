#pragma once
// What happens to every request on its way in and out, whoever answers it: it gets an id, its path
// loses the prefix of a proxy, its response gains headers, and a line about it goes to the log.

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/cors.h"
#include "server/http.h"
#include "server/server_context.h"

namespace godwit {

struct EdgeOptions {
  CorsOptions cors = {};
  /// The prefix under which a proxy shows this server, such as "/api"; taken off paths that still
  /// have it. Empty: none.
  std::string root_path = {};
  bool request_id_headers = false;  ///< Responses carry X-Request-Id.
  bool access_log = true;
  std::vector<std::string> quiet_paths = {};  ///< Left out of the access log; whole paths.
};

/// Threading: handle() may run on any number of threads at once.
class Edge {
 public:
  /// `ids` and `clock` must outlive the edge and its exchanges.
  Edge(EdgeOptions options, IdSource& ids, const Clock& clock, HttpHandler inner);

  /// Hands the exchange on to the inner handler, or answers it: preflight requests of browsers.
  void handle(std::shared_ptr<Exchange> exchange) const;

 private:
  void strip_root(std::string& path) const;

  EdgeOptions options_;
  Cors cors_;
  IdSource& ids_;
  const Clock& clock_;
  HttpHandler inner_;
};

}  // namespace godwit
