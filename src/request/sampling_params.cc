#include "request/sampling_params.h"

#include <cmath>

namespace godwit {
namespace {

std::string number(float value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (!text.empty() && text.back() == '.') {
    text.pop_back();
  }
  return text;
}

Status out_of_range(const char* field, const std::string& value, const char* allowed) {
  return invalid_argument(std::string(field) + " is " + value, std::string("give ") + allowed);
}

/// NaN fails every comparison, so it is refused with the rest.
Status check_probabilities(const SamplingParams& params) {
  if (!(params.temperature >= 0.0F) || std::isinf(params.temperature)) {
    return out_of_range("temperature", number(params.temperature), "a number >= 0");
  }
  if (!(params.top_p > 0.0F && params.top_p <= 1.0F)) {
    return out_of_range("top_p", number(params.top_p), "a number in (0, 1]");
  }
  if (params.top_k < -1) {
    return out_of_range("top_k", std::to_string(params.top_k),
                        "a positive integer, or 0 or -1 for off");
  }
  if (!(params.min_p >= 0.0F && params.min_p <= 1.0F)) {
    return out_of_range("min_p", number(params.min_p), "a number in [0, 1]");
  }
  if (!(params.repetition_penalty > 0.0F) || std::isinf(params.repetition_penalty)) {
    return out_of_range("repetition_penalty", number(params.repetition_penalty), "a number > 0");
  }
  if (!(std::fabs(params.presence_penalty) <= 2.0F)) {
    return out_of_range("presence_penalty", number(params.presence_penalty), "a number in [-2, 2]");
  }
  if (!(std::fabs(params.frequency_penalty) <= 2.0F)) {
    return out_of_range("frequency_penalty", number(params.frequency_penalty),
                        "a number in [-2, 2]");
  }
  for (const auto& [token, bias] : params.logit_bias) {
    if (!(std::fabs(bias) <= 100.0F)) {
      return out_of_range("logit_bias", number(bias), "numbers in [-100, 100]");
    }
  }
  return {};
}

Status check_repetition_detection(const RepetitionDetection& detection) {
  const auto refuse = [](const char* field, std::int32_t value, const char* allowed) {
    return out_of_range(field, std::to_string(value), allowed);
  };
  if (detection.max_pattern_size < 0) {
    return refuse("repetition_detection.max_pattern_size", detection.max_pattern_size,
                  "an integer >= 0");
  }
  if (detection.min_pattern_size < 0 || detection.min_pattern_size > detection.max_pattern_size) {
    return refuse("repetition_detection.min_pattern_size", detection.min_pattern_size,
                  "an integer between 0 and max_pattern_size");
  }
  if (detection.max_pattern_size > 0 && detection.min_count < 2) {
    return refuse("repetition_detection.min_count", detection.min_count, "an integer >= 2");
  }
  return {};
}

}  // namespace

Status validate(const SamplingParams& params) {
  TRY(check_probabilities(params));
  if (params.max_tokens < 0) {
    return out_of_range("max_tokens", std::to_string(params.max_tokens), "an integer >= 1");
  }
  if (params.min_tokens < 0 || params.min_tokens > params.max_tokens) {
    return out_of_range("min_tokens", std::to_string(params.min_tokens),
                        "an integer between 0 and max_tokens");
  }
  TRY(check_repetition_detection(params.repetition_detection));
  for (const std::string& stop : params.stop) {
    if (stop.empty()) {
      return invalid_argument("stop holds an empty string", "leave it out");
    }
  }
  if (params.logprobs && *params.logprobs < 0) {
    return out_of_range("logprobs", std::to_string(*params.logprobs), "an integer >= 0");
  }
  if (params.prompt_logprobs && *params.prompt_logprobs < 0) {
    return out_of_range("prompt_logprobs", std::to_string(*params.prompt_logprobs),
                        "an integer >= 0");
  }
  return {};
}

}  // namespace godwit
