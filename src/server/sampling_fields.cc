#include "server/sampling_fields.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "text/tokenizer.h"

namespace godwit {
namespace {

constexpr std::size_t kMaxStopStrings = 64;
constexpr std::size_t kMaxBadWords = 1024;
constexpr std::size_t kMaxLogprobIds = 128;

Status read_logit_bias(FieldReader& fields, std::int64_t vocab_size, SamplingParams& out) {
  const Json* value = fields.find("logit_bias");
  if (value == nullptr) {
    return {};
  }
  if (!value->is_object()) {
    return wrong_kind("logit_bias", "an object of token ids and numbers", *value);
  }
  for (const auto& [key, bias] : value->as_object()) {
    TokenId id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 || id >= vocab_size) {
      return invalid_argument("logit_bias has the key \"" + key.substr(0, 32) + "\"",
                              "keys are token ids, 0 to " + std::to_string(vocab_size - 1));
    }
    if (!bias.is_number()) {
      return wrong_kind("logit_bias[" + key + "]", "a number", bias);
    }
    out.logit_bias.emplace_back(id, static_cast<float>(bias.as_double()));
  }
  return {};
}

/// The token sequences of one bad word: as it begins a text, and as it follows a space when that
/// gives other tokens of the same number. vLLM's rule (SamplingParams.update_from_tokenizer).
void add_bad_word(const Tokenizer& tokenizer, const std::string& word, TokenRules& rules) {
  constexpr EncodeOptions kPlain{.add_special_tokens = false};
  const std::size_t begin = std::min(word.find_first_not_of(" \t\n\r\f\v"), word.size());
  const std::string text = word.substr(begin);
  std::vector<TokenId> bare = tokenizer.encode(text, kPlain);
  if (bare.empty()) {
    return;
  }
  std::vector<TokenId> spaced = tokenizer.encode(" " + text, kPlain);
  const bool differs =
      !spaced.empty() && spaced.front() != bare.front() && spaced.size() == bare.size();
  rules.banned.push_back(std::move(bare));
  if (differs) {
    rules.banned.push_back(std::move(spaced));
  }
}

Status read_token_rules(FieldReader& fields, std::int64_t vocab_size, const ServedModel& model,
                        SamplingParams& out) {
  TokenRules rules;
  TRY(fields.read_ids("allowed_token_ids", vocab_size, rules.allowed));
  if (fields.find("allowed_token_ids") != nullptr && rules.allowed.empty()) {
    return invalid_argument("allowed_token_ids is empty",
                            "give at least one token id, or leave it out");
  }
  std::sort(rules.allowed.begin(), rules.allowed.end());
  rules.allowed.erase(std::unique(rules.allowed.begin(), rules.allowed.end()), rules.allowed.end());
  std::vector<std::string> words;
  TRY(fields.read_strings("bad_words", kMaxBadWords, words));
  if (!words.empty() && model.tokenizer == nullptr) {
    return invalid_argument("bad_words needs text, and this server runs without a tokenizer",
                            "leave it out");
  }
  for (const std::string& word : words) {
    if (word.empty()) {
      return invalid_argument("bad_words holds an empty string", "leave it out");
    }
    add_bad_word(*model.tokenizer, word, rules);
  }
  if (!rules.allowed.empty() || !rules.banned.empty()) {
    out.token_rules = std::make_shared<const TokenRules>(std::move(rules));
  }
  return {};
}

Status read_repetition_detection(FieldReader& fields, RepetitionDetection& out) {
  const Json* value = fields.find("repetition_detection");
  if (value == nullptr) {
    return {};
  }
  if (!value->is_object()) {
    return wrong_kind("repetition_detection", "an object", *value);
  }
  FieldReader detection = TRY(FieldReader::create(*value, kRepetitionDetectionFields));
  TRY(detection.read("max_pattern_size", out.max_pattern_size));
  TRY(detection.read("min_pattern_size", out.min_pattern_size));
  return detection.read("min_count", out.min_count);
}

Status read_logprob_ids(FieldReader& fields, std::int64_t vocab_size, SamplingParams& out) {
  TRY(fields.read_ids("logprob_token_ids", vocab_size, out.logprob_token_ids));
  if (out.logprob_token_ids.size() > kMaxLogprobIds) {
    return invalid_argument(
        "logprob_token_ids holds " + std::to_string(out.logprob_token_ids.size()) + " ids",
        "give at most " + std::to_string(kMaxLogprobIds));
  }
  return {};
}

}  // namespace

Status read_sampling_fields(FieldReader& fields, const EngineLimits& limits,
                            const ServedModel& model, SamplingParams& out) {
  TRY(fields.read("temperature", out.temperature));
  TRY(fields.read("top_p", out.top_p));
  TRY(fields.read("top_k", out.top_k));
  TRY(fields.read("min_p", out.min_p));
  TRY(fields.read("repetition_penalty", out.repetition_penalty));
  TRY(fields.read("presence_penalty", out.presence_penalty));
  TRY(fields.read("frequency_penalty", out.frequency_penalty));
  TRY(fields.read("seed", out.seed));
  TRY(fields.read("min_tokens", out.min_tokens));
  TRY(fields.read("ignore_eos", out.ignore_eos));
  TRY(fields.read_strings("stop", kMaxStopStrings, out.stop));
  TRY(fields.read_ids("stop_token_ids", limits.vocab_size, out.stop_token_ids));
  TRY(fields.read("include_stop_str_in_output", out.include_stop_str_in_output));
  TRY(fields.read("skip_special_tokens", out.skip_special_tokens));
  bool spaces = true;  // No tokenizer of this server puts spaces between special tokens.
  TRY(fields.read("spaces_between_special_tokens", spaces));
  TRY(fields.read("prompt_logprobs", out.prompt_logprobs));
  if (out.prompt_logprobs && *out.prompt_logprobs > limits.max_logprobs) {
    return invalid_argument(
        "prompt_logprobs is " + std::to_string(*out.prompt_logprobs),
        "this server gives at most " + std::to_string(limits.max_logprobs) + " (--max-logprobs)");
  }
  if (model.tokenizer == nullptr && !out.stop.empty()) {
    return invalid_argument("stop needs text, and this server runs without a tokenizer",
                            "use stop_token_ids");
  }
  TRY(read_logprob_ids(fields, limits.vocab_size, out));
  TRY(read_repetition_detection(fields, out.repetition_detection));
  TRY(read_token_rules(fields, limits.vocab_size, model, out));
  return read_logit_bias(fields, limits.vocab_size, out);
}

}  // namespace godwit
