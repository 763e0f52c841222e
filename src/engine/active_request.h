#pragma once
// A request while it is in the engine.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/metrics.h"
#include "engine/output_stream.h"
#include "request/request.h"
#include "sched/sequence.h"

namespace godwit {

/// One of a request's n outputs.
struct ActiveOutput {
  ActiveOutput(SequenceId sequence_id, const Tokenizer* tokenizer, const Request& request)
      : id(sequence_id), stream(tokenizer, request) {}

  SequenceId id;
  OutputStream stream;
  OutputMetrics times;
  bool started = false;  ///< It has had its first step.
  bool finished = false;
};

/// Stays at one address: its outputs refer to `request`.
struct ActiveRequest {
  ActiveRequest(RequestKey request_key, Request wanted, DeltaSink receiver, Clock::Duration arrival)
      : key(request_key), request(std::move(wanted)), sink(std::move(receiver)), arrived(arrival) {}

  RequestKey key;
  Request request;
  DeltaSink sink;
  Clock::Duration arrived;
  std::vector<ActiveOutput> outputs;
  /// Of output 0; entry i belongs to prompt token i + 1. A chunk computed twice gives the same.
  std::vector<TokenLogprob> prompt_logprobs;

  [[nodiscard]] bool finished() const;
  [[nodiscard]] std::int64_t longest_output() const;
};

/// What the scheduler gets for output `index`; the outputs of a request have consecutive ids.
/// `base_seed` is drawn for requests without a seed.
SequenceSpec make_sequence_spec(const Request& request, SequenceId id, std::int32_t index,
                                std::int64_t base_seed);

}  // namespace godwit
