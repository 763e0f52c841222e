#include "server/openai_request.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace godwit {
namespace {

constexpr std::size_t kMaxStopStrings = 64;
constexpr std::size_t kMaxSaltLength = 128;
constexpr std::size_t kMaxIdLength = 256;

struct NeutralField {
  std::string_view name;
  std::string_view neutral;  // JSON text of the value that asks for nothing
};

// Fields of OpenAI and vLLM that this server has no feature for.
constexpr NeutralField kUnsupported[] = {
    {"allowed_token_ids", "[]"},
    {"audio", "null"},
    {"bad_words", "[]"},
    {"best_of", "1"},
    {"ec_transfer_params", "null"},
    {"guided_choice", "null"},
    {"guided_decoding_backend", "null"},
    {"guided_grammar", "null"},
    {"guided_json", "null"},
    {"guided_json_object", "false"},
    {"guided_regex", "null"},
    {"guided_whitespace_pattern", "null"},
    {"kv_transfer_params", "null"},
    {"length_penalty", "1.0"},
    {"logits_processors", "[]"},
    {"logprob_token_ids", "[]"},
    {"media_io_kwargs", "{}"},
    {"mm_processor_kwargs", "{}"},
    {"prediction", "null"},
    {"prompt_embeds", "null"},
    {"reasoning_effort", "null"},
    {"repetition_detection", "null"},
    {"response_format", R"({"type":"text"})"},
    {"return_mm_kwargs", "false"},
    {"return_prompt_text", "false"},
    {"return_token_offsets", "false"},
    {"routed_experts_prompt_start", "null"},
    {"spaces_between_special_tokens", "true"},
    {"stream_interval", "1"},
    {"structured_outputs", "null"},
    {"thinking", "null"},
    {"thinking_token_budget", "-1"},
    {"truncate_prompt_tokens", "null"},
    {"use_beam_search", "false"},
    {"vllm_xargs", "{}"},
    {"watermarking", "false"},
    {"web_search_options", "null"},
};

// Fields that say nothing about the answer.
constexpr std::string_view kIgnored[] = {
    "user",       "metadata",  "store",           "service_tier",     "safety_identifier",
    "session_id", "verbosity", "truncation_side", "prompt_cache_key", "include_reasoning"};

Status refuse_unsupported(FieldReader& fields) {
  for (const NeutralField& field : kUnsupported) {
    const Json neutral = TRY(parse_json(field.neutral, field.name));
    TRY(fields.refuse_unless(field.name, neutral));
  }
  if (const Json* modalities = fields.find("modalities")) {
    if (!(*modalities == Json(JsonArray{"text"}))) {
      return unimplemented("modalities other than [\"text\"] are not supported by this server");
    }
  }
  for (const std::string_view name : kIgnored) {
    fields.ignore(name);
  }
  return {};
}

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

Status read_sampling(FieldReader& fields, std::int64_t vocab_size, SamplingParams& out) {
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
  TRY(fields.read_ids("stop_token_ids", vocab_size, out.stop_token_ids));
  TRY(fields.read("include_stop_str_in_output", out.include_stop_str_in_output));
  TRY(fields.read("skip_special_tokens", out.skip_special_tokens));
  TRY(fields.read("prompt_logprobs", out.prompt_logprobs));
  return read_logit_bias(fields, vocab_size, out);
}

Status read_stream_options(FieldReader& fields, GenerationFields& out) {
  TRY(fields.read("stream", out.stream));
  const Json* value = fields.find("stream_options");
  if (value == nullptr) {
    return {};
  }
  if (!value->is_object()) {
    return wrong_kind("stream_options", "an object", *value);
  }
  if (!out.stream) {
    return invalid_argument("stream_options is given without streaming", "set stream to true");
  }
  FieldReader options = TRY(FieldReader::create(*value));
  TRY(options.read("include_usage", out.include_usage));
  TRY(options.read("continuous_usage_stats", out.continuous_usage));
  out.continuous_usage = out.continuous_usage && out.include_usage;
  return {};
}

Status read_salt(FieldReader& fields, std::string& out) {
  TRY(fields.read("cache_salt", out));
  if (fields.find("cache_salt") != nullptr && (out.empty() || out.size() > kMaxSaltLength)) {
    return invalid_argument("cache_salt must have 1 to " + std::to_string(kMaxSaltLength) +
                            " characters");
  }
  return {};
}

/// The part of a response's id that the client chose, or a random one.
Result<std::string> read_request_id(FieldReader& fields, const HttpRequest& request,
                                    IdSource& ids) {
  std::string id;
  TRY(fields.read("request_id", id));
  if (const std::string* header = request.header("x-request-id")) {
    id = *header;
  }
  if (id.size() > kMaxIdLength) {
    return invalid_argument("request_id is longer than " + std::to_string(kMaxIdLength) +
                            " characters");
  }
  return id.empty() ? ids.next() : id;
}

}  // namespace

Result<Json> read_body(const HttpRequest& request) {
  if (request.body.empty()) {
    return invalid_argument("The request has no body", "send a JSON object");
  }
  return parse_json(request.body, "The request body");
}

Result<std::string> read_model(FieldReader& fields, const ServedModel& model) {
  std::string name;
  TRY(fields.read("model", name));
  if (name.empty()) {
    return model.names.front();
  }
  if (!model.has_name(name)) {
    return not_found("model `" + name.substr(0, 200) + "` does not exist here",
                     "this server serves `" + model.names.front() + "`");
  }
  return name;
}

Result<GenerationFields> read_generation_fields(FieldReader& fields, const HttpRequest& request,
                                                std::string_view id_prefix, ServerContext& server) {
  const EngineLimits limits = server.engine->limits();
  GenerationFields out;
  out.sampling = server.model.defaults;
  out.model = TRY(read_model(fields, server.model));
  out.id = std::string(id_prefix) + TRY(read_request_id(fields, request, server.ids));
  TRY(refuse_unsupported(fields));
  TRY(read_stream_options(fields, out));
  TRY(fields.read("n", out.n));
  if (out.n < 1 || out.n > kMaxOutputs) {
    return invalid_argument("n is " + std::to_string(out.n),
                            "give an integer from 1 to " + std::to_string(kMaxOutputs));
  }
  TRY(read_sampling(fields, limits.vocab_size, out.sampling));
  if (out.sampling.prompt_logprobs && *out.sampling.prompt_logprobs > limits.max_logprobs) {
    return invalid_argument(
        "prompt_logprobs is " + std::to_string(*out.sampling.prompt_logprobs),
        "this server gives at most " + std::to_string(limits.max_logprobs) + " (--max-logprobs)");
  }
  TRY(fields.read("echo", out.echo));
  TRY(fields.read("return_token_ids", out.return_token_ids));
  TRY(fields.read("return_tokens_as_token_ids", out.tokens_as_ids));
  TRY(fields.read("priority", out.priority));
  TRY(read_salt(fields, out.cache_salt));
  if (server.model.tokenizer == nullptr && !out.sampling.stop.empty()) {
    return invalid_argument("stop needs text, and this server runs without a tokenizer",
                            "use stop_token_ids");
  }
  return out;
}

Result<Request> make_request(const GenerationFields& fields, std::vector<TokenId> prompt,
                             std::int64_t default_max_tokens, const ServedModel& model) {
  const auto length = static_cast<std::int64_t>(prompt.size());
  const std::string context =
      "This model's maximum context length is " + std::to_string(model.max_model_len) +
      " tokens, and the request has " + std::to_string(length) + " input tokens";
  if (length == 0) {
    return invalid_argument("prompt holds no tokens", "give at least one");
  }
  const bool prompt_alone = fields.echo && fields.max_tokens == 0;
  if (length > model.max_model_len || (length == model.max_model_len && !prompt_alone)) {
    return invalid_argument(context, "shorten the input");
  }
  const std::int64_t room = model.max_model_len - length;
  if (fields.max_tokens && *fields.max_tokens < (fields.echo ? 0 : 1)) {
    return invalid_argument("max_tokens is " + std::to_string(*fields.max_tokens),
                            "give an integer >= 1");
  }
  if (fields.max_tokens.value_or(0) > room) {
    return invalid_argument(
        context + " and asks for " + std::to_string(*fields.max_tokens) + " output tokens",
        "ask for at most " + std::to_string(room) + " in max_tokens");
  }
  Request request;
  request.id = fields.id;
  request.prompt = std::move(prompt);
  request.sampling = fields.sampling;
  request.sampling.max_tokens =
      std::min({fields.max_tokens.value_or(default_max_tokens), room,
                model.max_output_tokens.value_or(std::numeric_limits<std::int64_t>::max())});
  request.n = fields.n;
  request.priority = fields.priority;
  request.cache_salt = fields.cache_salt;
  request.detokenize = model.tokenizer != nullptr;
  TRY(validate(request.sampling));
  return request;
}

}  // namespace godwit
