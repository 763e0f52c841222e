#pragma once
// The API server of one engine.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "server/edge.h"
#include "server/engine_client.h"
#include "server/http_server.h"
#include "server/server_context.h"

namespace godwit {

struct ServerOptions {
  HttpServerOptions http;
  ServedModel model;
  EdgeOptions edge;
  bool log_requests = false;          ///< Each request to the engine gets a line in the log.
  std::vector<std::string> api_keys;  ///< Empty: everyone may ask.
  std::string version;                ///< For GET /version.
};

/// Threading: the methods may be called from any thread.
class Server {
 public:
  /// Binds the port; answers nothing before start(). `engine` and `clock` must outlive the server.
  /// Errors: those of HttpServer::create.
  static Result<std::unique_ptr<Server>> create(ServerOptions options, Engine& engine,
                                                const Clock& clock);
  /// As above, for any engine.
  static Result<std::unique_ptr<Server>> create(ServerOptions options,
                                                std::unique_ptr<EngineClient> engine,
                                                const Clock& clock);
  /// Disconnects everyone when stop() was not called.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void start();
  [[nodiscard]] std::uint16_t port() const;

  /// Takes no more requests, waits up to `patience` for those that run, drops the rest and returns
  /// when every thread has ended.
  void stop(std::chrono::milliseconds patience);
  /// Ends the patience of a stop() that another thread waits in.
  void stop_now();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace godwit
