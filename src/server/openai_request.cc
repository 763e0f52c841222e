#include "server/openai_request.h"

#include <algorithm>
#include <limits>

#include "server/sampling_fields.h"

namespace godwit {
namespace {

constexpr std::size_t kMaxSaltLength = 128;
constexpr std::size_t kMaxIdLength = 256;

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
  FieldReader options = TRY(FieldReader::create(*value, kStreamOptionFields));
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
  if (out.find_first_of(std::string_view("@/\\\0", 4)) != std::string::npos) {
    return invalid_argument("cache_salt holds one of @, /, \\ and NUL", "use other characters");
  }
  return {};
}

Status read_truncation(FieldReader& fields, PromptTruncation& out) {
  TRY(fields.read("truncate_prompt_tokens", out.tokens));
  if (out.tokens && *out.tokens < -1) {
    return invalid_argument("truncate_prompt_tokens is " + std::to_string(*out.tokens),
                            "give a number of tokens, or -1 for what the context has room for");
  }
  std::string side = "left";
  TRY(fields.read("truncation_side", side));
  if (side != "left" && side != "right") {
    return invalid_argument("truncation_side is \"" + side.substr(0, 32) + "\"",
                            "give \"left\" or \"right\"");
  }
  out.keep_end = side == "left";
  return {};
}

/// The part of a response's id that the client chose, or a random one.
Result<std::string> read_request_id(FieldReader& fields, const HttpRequest& request,
                                    IdSource& ids) {
  std::string id;
  TRY(fields.read("request_id", id));
  if (const std::string* header = request.header("x-request-id")) {
    id = *header;
  } else if (id.empty()) {
    id = request.id;
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
  TRY(read_stream_options(fields, out));
  TRY(fields.read("n", out.n));
  if (out.n < 1 || out.n > kMaxOutputs) {
    return invalid_argument("n is " + std::to_string(out.n),
                            "give an integer from 1 to " + std::to_string(kMaxOutputs));
  }
  TRY(read_sampling_fields(fields, limits, server.model, out.sampling));
  TRY(fields.read("echo", out.echo));
  TRY(fields.read("return_token_ids", out.return_token_ids));
  TRY(fields.read("return_tokens_as_token_ids", out.tokens_as_ids));
  TRY(fields.read("priority", out.priority));
  TRY(fields.read("return_prompt_text", out.return_prompt_text));
  TRY(fields.read("stream_interval", out.stream_interval));
  if (out.stream_interval < 1) {
    return invalid_argument("stream_interval is " + std::to_string(out.stream_interval),
                            "give an integer >= 1");
  }
  TRY(read_truncation(fields, out.truncation));
  TRY(read_salt(fields, out.cache_salt));
  return out;
}

Result<bool> truncate_prompt(const GenerationFields& fields, const ServedModel& model,
                             std::vector<TokenId>& prompt) {
  if (!fields.truncation.tokens) {
    return false;
  }
  // Room for at least one token of output, unless the prompt alone is asked for.
  const std::int64_t output =
      std::clamp<std::int64_t>(fields.max_tokens.value_or(1), 0, model.max_model_len);
  const std::int64_t room = model.max_model_len - output;
  std::int64_t kept = *fields.truncation.tokens;
  if (kept > room) {
    return invalid_argument(
        "truncate_prompt_tokens is " + std::to_string(kept) +
            ", which leaves no room for the output in this model's context of " +
            std::to_string(model.max_model_len) + " tokens",
        "give at most " + std::to_string(room));
  }
  kept = kept == -1 ? room : kept;
  const auto length = static_cast<std::int64_t>(prompt.size());
  if (length <= kept) {
    return false;
  }
  if (fields.truncation.keep_end) {
    prompt.erase(prompt.begin(), prompt.end() - kept);
  } else {
    prompt.resize(static_cast<std::size_t>(kept));
  }
  return true;
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
