#pragma once
// An engine on a fixture, and a client that waits for whole answers.

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "runner/model_runner.h"
#include "text/tokenizer.h"

namespace godwit::test {

struct RigOptions {
  RunnerOptions runner;
  EngineOptions engine;
  std::shared_ptr<const Tokenizer> tokenizer;
};

/// Everything that came for one output.
struct Answer {
  std::string text;
  std::vector<TokenId> tokens;
  std::vector<TokenLogprob> logprobs;
  std::vector<TokenLogprob> prompt_logprobs;
  FinishReason finish_reason = FinishReason::kError;
  std::optional<std::string> stop_string;
  std::optional<TokenId> stop_token;
  Status error;
  std::int64_t cached_tokens = 0;
  std::int64_t deltas = 0;
};

class EngineRig {
 public:
  /// CHECKs that the fixture loads.
  EngineRig(const std::filesystem::path& model, const RigOptions& options);

  /// Submits and returns where the n answers will be. CHECKs that the request is taken.
  std::future<std::vector<Answer>> start(Request request);
  /// Submits all, then waits for all; n must be 1.
  std::vector<Answer> answer(std::vector<Request> requests);

  [[nodiscard]] Engine& engine() { return *engine_; }

 private:
  SystemClock clock_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace godwit::test
