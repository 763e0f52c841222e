#pragma once
// The way of one HTTP request through the engine: one engine request a prompt, their deltas in
// order, and the end of all of them when the client leaves or one fails.

#include <cstddef>
#include <memory>
#include <vector>

#include "base/status.h"
#include "request/request.h"
#include "server/engine_client.h"
#include "server/http.h"

namespace godwit {

/// Turns deltas into a response. Called on the exchange's thread.
class Answer {
 public:
  virtual ~Answer() = default;
  /// All requests were accepted; nothing has come yet.
  virtual void start() = 0;
  /// Request `prompt` has gone on.
  virtual void add(std::size_t prompt, Delta delta) = 0;
  /// Every output of every request has ended. Sends what is left.
  virtual void finish() = 0;
  /// A fault ended a request after start(); it is the last call.
  virtual void fail(const Status& failure) = 0;
};

/// Submits the requests and feeds the answer until it is complete. When a request is refused, or
/// the client leaves, or an output fails, the others are aborted.
///
/// Threading: called by a handler, on the exchange's thread. `engine` must outlive the exchange.
void run_generation(EngineClient& engine, std::shared_ptr<Exchange> exchange,
                    std::vector<Request> requests, std::unique_ptr<Answer> answer);

}  // namespace godwit
