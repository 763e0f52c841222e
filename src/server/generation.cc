#include "server/generation.h"

#include <utility>

#include "base/log.h"
#include "server/error_body.h"

namespace godwit {
namespace {

/// Lives as long as the engine holds a sink, or the exchange's thread a delta, that leads to it.
class Generation : public std::enable_shared_from_this<Generation> {
 public:
  Generation(EngineClient& engine, std::shared_ptr<Exchange> exchange,
             std::unique_ptr<Answer> answer)
      : engine_(engine), exchange_(std::move(exchange)), answer_(std::move(answer)) {}

  void run(std::vector<Request> requests) {
    for (const Request& request : requests) {
      open_outputs_ += request.n;
    }
    for (std::size_t prompt = 0; prompt < requests.size(); ++prompt) {
      // The engine's thread hands each delta on; the exchange's thread, on which this runs too,
      // takes it.
      auto key = engine_.submit(
          std::move(requests[prompt]), [self = shared_from_this(), prompt](Delta delta) {
            self->exchange_->post([self, prompt, moved = std::move(delta)]() mutable {
              self->take(prompt, std::move(moved));
            });
          });
      if (!key.ok()) {
        end();
        exchange_->respond(error_response(key.status()));
        return;
      }
      keys_.push_back(*key);
    }
    // Weak, because the exchange, which this owns, keeps the callback.
    exchange_->on_disconnect([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->end();
      }
    });
    exchange_->on_interrupt([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->fail(unavailable("The server is shutting down", "send the request to another one"));
      }
    });
    answer_->start();
  }

 private:
  void take(std::size_t prompt, Delta delta) {
    if (ended_) {
      return;
    }
    if (delta.finish_reason == FinishReason::kError) {
      log::error("a request failed: {}", delta.error.message());
      fail(delta.error.ok() ? internal_error("The engine failed") : delta.error);
      return;
    }
    const bool closes = delta.finish_reason.has_value();
    answer_->add(prompt, std::move(delta));
    if (closes && --open_outputs_ == 0 && !ended_) {
      ended_ = true;
      answer_->finish();
    }
  }

  void fail(const Status& failure) {
    end();
    answer_->fail(failure);
  }

  /// Wants no more deltas. Aborting what has finished already does no harm.
  void end() {
    ended_ = true;
    for (const RequestKey key : keys_) {
      engine_.abort(key);
    }
    keys_.clear();
  }

  EngineClient& engine_;
  std::shared_ptr<Exchange> exchange_;
  std::unique_ptr<Answer> answer_;
  std::vector<RequestKey> keys_;
  std::int64_t open_outputs_ = 0;
  bool ended_ = false;
};

}  // namespace

void run_generation(EngineClient& engine, std::shared_ptr<Exchange> exchange,
                    std::vector<Request> requests, std::unique_ptr<Answer> answer) {
  std::make_shared<Generation>(engine, std::move(exchange), std::move(answer))
      ->run(std::move(requests));
}

}  // namespace godwit
