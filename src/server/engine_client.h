#pragma once
// What the handlers need of an engine. Narrower than Engine, so that their tests can play one.

#include <memory>
#include <string>

#include "base/status.h"
#include "engine/engine.h"
#include "request/request.h"

namespace godwit {

/// Threading: every method may be called from any thread.
class EngineClient {
 public:
  virtual ~EngineClient() = default;
  /// As Engine::submit.
  virtual Result<RequestKey> submit(Request request, DeltaSink sink) = 0;
  virtual void abort(RequestKey key) = 0;
  virtual void drain() = 0;
  [[nodiscard]] virtual bool alive() const = 0;
  [[nodiscard]] virtual EngineLimits limits() const = 0;
  /// The text for /metrics.
  [[nodiscard]] virtual std::string metrics_text() = 0;
};

/// Speaks to an engine, which must outlive the client.
std::unique_ptr<EngineClient> make_engine_client(Engine& engine);

}  // namespace godwit
