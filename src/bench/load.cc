#include "bench/load.h"

#include <cmath>
#include <cstddef>
#include <memory>
#include <random>

#include "base/json.h"
#include "bench/event_reader.h"

namespace godwit {
namespace {

using SteadyClock = std::chrono::steady_clock;
using TimePoint = SteadyClock::time_point;

double seconds(SteadyClock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::int64_t integer_at(const Json& object, std::string_view key, std::int64_t otherwise) {
  const Json* value = object.find(key);
  return value == nullptr ? otherwise : value->to_int64().value_or(otherwise);
}

/// Follows the answer to one request.
class Answer {
 public:
  Answer(TimePoint load_began, std::int64_t prompt_tokens) : began_(SteadyClock::now()) {
    outcome_.start = seconds(began_ - load_began);
    outcome_.prompt_tokens = prompt_tokens;
  }

  void add(std::string_view piece) {
    constexpr std::size_t kShown = 500;
    if (head_.size() < kShown) {
      head_ += piece.substr(0, kShown - head_.size());
    }
    if (!outcome_.error.ok()) {
      return;
    }
    outcome_.error = reader_.add(piece);
    while (outcome_.error.ok() && !done_) {
      const std::optional<std::string> data = reader_.next();
      if (!data) {
        return;
      }
      outcome_.error = read(*data);
    }
  }

  Outcome end(const Status& error, int status) {
    if (!error.ok()) {
      outcome_.error = error;
    } else if (status != 200) {
      outcome_.error = invalid_argument("The server answered with status " +
                                        std::to_string(status) + ": " + head_);
    } else if (outcome_.error.ok() && (!done_ || pieces_ == 0)) {
      outcome_.error = invalid_argument("The answer ended before [DONE] or held no token");
    }
    if (outcome_.output_tokens == 0) {
      outcome_.output_tokens = pieces_;
    }
    return std::move(outcome_);
  }

 private:
  Status read(const std::string& data) {
    if (data == "[DONE]") {
      done_ = true;
      return {};
    }
    const TimePoint now = SteadyClock::now();
    const Json event = TRY(parse_json(data, "an event of the server"));
    if (event.find("error") != nullptr) {
      return invalid_argument("The server sent an error: " + data);
    }
    if (const Json* usage = event.find("usage"); usage != nullptr && usage->is_object()) {
      outcome_.output_tokens = integer_at(*usage, "completion_tokens", 0);
      outcome_.prompt_tokens = integer_at(*usage, "prompt_tokens", outcome_.prompt_tokens);
    }
    const Json* choices = event.find("choices");
    if (choices == nullptr || !choices->is_array() || choices->as_array().empty()) {
      return {};
    }
    take_piece(choices->as_array().front(), now);
    return {};
  }

  void take_piece(const Json& choice, TimePoint now) {
    const Json* delta = choice.find("delta");
    const Json* text = delta == nullptr ? choice.find("text") : delta->find("content");
    const bool has_text = text != nullptr && text->is_string() && !text->as_string().empty();
    // A chat's first event names the role and holds no token.
    if (delta != nullptr && !has_text && delta->find("role") != nullptr) {
      return;
    }
    if (has_text) {
      outcome_.text += text->as_string();
    }
    if (pieces_ == 0) {
      outcome_.time_to_first_token = seconds(now - began_);
    } else {
      outcome_.inter_token_latencies.push_back(seconds(now - last_));
    }
    ++pieces_;
    last_ = now;
    outcome_.latency = seconds(now - began_);
  }

  TimePoint began_;
  TimePoint last_;
  std::int64_t pieces_ = 0;
  bool done_ = false;
  EventReader reader_;
  std::string head_;  ///< The beginning of the answer, for errors.
  Outcome outcome_;
};

/// The requests of one load on their way.
class Load {
 public:
  Load(HttpLoop& loop, std::vector<LoadRequest> requests, const LoadOptions& options,
       const std::function<void()>& progress)
      : loop_(loop), requests_(std::move(requests)), options_(options), progress_(progress) {
    result_.outcomes.resize(requests_.size());
  }

  LoadResult run() {
    const std::vector<double> due = arrival_times(requests_.size(), options_);
    began_ = SteadyClock::now();
    for (const double time : due) {
      const auto delay =
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(time));
      loop_.after(delay, [this] {
        ++due_;
        start_what_may();
      });
    }
    loop_.run();
    result_.duration = seconds(SteadyClock::now() - began_);
    return std::move(result_);
  }

 private:
  void start_what_may() {
    while (next_ < due_ && (options_.max_concurrency == 0 || running_ < options_.max_concurrency)) {
      start(next_++);
    }
  }

  void start(std::size_t index) {
    ++running_;
    HttpCall call;
    call.path = options_.path;
    call.headers = options_.headers;
    call.timeout = options_.timeout;
    call.body = std::move(requests_[index].body);
    const auto answer = std::make_shared<Answer>(began_, requests_[index].prompt_tokens);
    loop_.start(std::move(call), {.body = [answer](std::string_view piece) { answer->add(piece); },
                                  .ended =
                                      [this, index, answer](const Status& error, int status) {
                                        result_.outcomes[index] = answer->end(error, status);
                                        --running_;
                                        progress_();
                                        start_what_may();
                                      }});
  }

  HttpLoop& loop_;
  std::vector<LoadRequest> requests_;
  const LoadOptions& options_;
  const std::function<void()>& progress_;
  TimePoint began_;
  std::size_t due_ = 0;   ///< Requests whose time has come.
  std::size_t next_ = 0;  ///< The first that is not started.
  std::int64_t running_ = 0;
  LoadResult result_;
};

}  // namespace

std::vector<double> arrival_times(std::size_t count, const LoadOptions& options) {
  std::vector<double> times(count, 0.0);
  if (std::isinf(options.request_rate)) {
    return times;
  }
  std::mt19937_64 random(options.seed);
  std::gamma_distribution<double> gap(options.burstiness,
                                      1.0 / (options.request_rate * options.burstiness));
  double now = 0.0;
  for (double& time : times) {
    time = now;
    now += gap(random);
  }
  return times;
}

LoadResult run_load(const HttpTarget& target, std::vector<LoadRequest> requests,
                    const LoadOptions& options, const std::function<void()>& progress) {
  HttpLoop loop(target);
  return Load(loop, std::move(requests), options, progress).run();
}

}  // namespace godwit
