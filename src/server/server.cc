#include "server/server.h"

#include <utility>

#include "server/router.h"

namespace godwit {

struct Server::Impl {
  Impl(EdgeOptions edge_options, const std::vector<std::string>& api_keys, const Clock& clock)
      : router(context, api_keys),
        edge(std::move(edge_options), context.ids, clock,
             [this](std::shared_ptr<Exchange> exchange) { router.route(std::move(exchange)); }) {}

  ServerContext context;
  Router router;
  Edge edge;
  std::unique_ptr<HttpServer> http;  // last: its threads use the rest
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  stop(std::chrono::milliseconds(0));
}

Result<std::unique_ptr<Server>> Server::create(ServerOptions options, Engine& engine,
                                               const Clock& clock) {
  return create(std::move(options), make_engine_client(engine), clock);
}

Result<std::unique_ptr<Server>> Server::create(ServerOptions options,
                                               std::unique_ptr<EngineClient> engine,
                                               const Clock& clock) {
  CHECK(!options.model.names.empty());
  const std::string root_path = options.edge.root_path;
  auto impl = std::make_unique<Impl>(std::move(options.edge), options.api_keys, clock);
  impl->context.root_path = root_path;
  impl->context.log_requests = options.log_requests;
  impl->context.model = std::move(options.model);
  impl->context.version = std::move(options.version);
  impl->context.engine = std::move(engine);
  impl->context.clock = &clock;
  impl->context.model.created = clock.unix_seconds();
  impl->http = TRY(
      HttpServer::create(options.http, [edge = &impl->edge](std::shared_ptr<Exchange> exchange) {
        edge->handle(std::move(exchange));
      }));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

void Server::start() {
  impl_->http->start();
}

std::uint16_t Server::port() const {
  return impl_->http->port();
}

void Server::stop(std::chrono::milliseconds patience) {
  if (!impl_->context.draining.exchange(true)) {
    impl_->context.engine->drain();
  }
  impl_->http->stop(patience);
}

void Server::stop_now() {
  impl_->http->stop_now();
}

}  // namespace godwit
