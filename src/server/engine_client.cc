#include "server/engine_client.h"

#include <utility>

#include "engine/metrics.h"

namespace godwit {
namespace {

class LocalEngineClient final : public EngineClient {
 public:
  explicit LocalEngineClient(Engine& engine) : engine_(engine) {}

  Result<RequestKey> submit(Request request, DeltaSink sink) override {
    return engine_.submit(std::move(request), std::move(sink));
  }
  void abort(RequestKey key) override { engine_.abort(key); }
  void drain() override { engine_.drain(); }
  [[nodiscard]] bool alive() const override { return engine_.alive(); }
  [[nodiscard]] EngineLimits limits() const override { return engine_.limits(); }
  [[nodiscard]] std::string metrics_text() override { return engine_.metrics().expose(); }

 private:
  Engine& engine_;
};

}  // namespace

std::unique_ptr<EngineClient> make_engine_client(Engine& engine) {
  return std::make_unique<LocalEngineClient>(engine);
}

}  // namespace godwit
