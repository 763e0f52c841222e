#include "cli/bench_serve.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <set>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/json.h"
#include "bench/http_loop.h"
#include "bench/result_file.h"

namespace godwit {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

Result<double> parse_decimal(const char* flag, const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0.0)) {
    return invalid_argument(std::string(flag) + " is " + text,
                            "give a number that is not negative");
  }
  return value;
}

Result<std::pair<std::string, std::string>> parse_assignment(const char* flag,
                                                             const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 ||
      text.find_first_of("\r\n") != std::string::npos) {
    return invalid_argument(std::string(flag) + " is " + text, "give NAME=VALUE");
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

/// Fills in what the flags leave as text.
Status read_options(BenchServeCommand& command) {
  LoadOptions& load = command.load;
  load.request_rate = TRY(parse_decimal("--request-rate", command.request_rate));
  if (load.request_rate == 0.0 || !(load.burstiness > 0.0)) {
    return invalid_argument("--request-rate and --burstiness must be positive");
  }
  load.seed = command.prompts.seed;
  load.path = command.endpoint;
  if (load.path.empty()) {
    load.path = command.backend == "openai-chat" ? "/v1/chat/completions" : "/v1/completions";
  }
  if (!command.api_key.empty()) {
    load.headers.emplace_back("Authorization", "Bearer " + command.api_key);
  }
  for (const std::string& header : command.headers) {
    load.headers.push_back(TRY(parse_assignment("--header", header)));
  }
  ReportOptions& report = command.report;
  report.request_rate = load.request_rate;
  report.burstiness = load.burstiness;
  report.max_concurrency = load.max_concurrency;
  report.metrics = split(command.metrics);
  report.percentiles.clear();
  for (const std::string& percent : split(command.percentiles)) {
    report.percentiles.push_back(TRY(parse_decimal("--metric-percentiles", percent)));
  }
  for (const std::string& goal : command.goals) {
    report.goals.push_back(TRY(parse_goal(goal)));
  }
  return {};
}

/// The server of a command, asked for what the load needs to know.
class BenchedServer {
 public:
  BenchedServer(HttpTarget target, Headers headers)
      : target_(std::move(target)), headers_(std::move(headers)) {}

  Result<std::string> first_model() const {
    const Json list = TRY(ask("GET", "/v1/models", Json()));
    const Json* data = list.find("data");
    if (data != nullptr && data->is_array() && !data->as_array().empty()) {
      const Json* id = data->as_array().front().find("id");
      if (id != nullptr && id->is_string()) {
        return id->as_string();
      }
    }
    return invalid_argument("The server lists no model", "name one with --model");
  }

  /// Ids of ordinary tokens: those of a text with every pair of letters.
  Result<std::vector<TokenId>> ordinary_tokens(const std::string& model) const {
    std::string text;
    for (char first = 'a'; first <= 'z'; ++first) {
      for (char second = 'a'; second <= 'z'; ++second) {
        text += {' ', first, second};
      }
    }
    const Result<Json> answer =
        ask("POST", "/tokenize",
            JsonObject{{"model", model}, {"prompt", text}, {"add_special_tokens", false}});
    const Json* tokens = answer.ok() ? answer->find("tokens") : nullptr;
    std::set<TokenId> ids;
    if (tokens != nullptr && tokens->is_array()) {
      for (const Json& token : tokens->as_array()) {
        ids.insert(static_cast<TokenId>(token.to_int64().value_or(0)));
      }
    }
    if (ids.empty()) {
      return invalid_argument("The server does not answer /tokenize" +
                                  (answer.ok() ? std::string() : ": " + answer.status().message()),
                              "give --vocab-size: prompts are then any ids below it");
    }
    return std::vector<TokenId>(ids.begin(), ids.end());
  }

  Result<std::string> text_of(const std::string& model, const std::vector<TokenId>& tokens) const {
    JsonArray ids(tokens.begin(), tokens.end());
    const Json answer =
        TRY(ask("POST", "/detokenize", JsonObject{{"model", model}, {"tokens", std::move(ids)}}));
    const Json* text = answer.find("prompt");
    if (text == nullptr || !text->is_string()) {
      return invalid_argument("The server's answer to /detokenize holds no prompt");
    }
    return text->as_string();
  }

  const HttpTarget& target() const { return target_; }

 private:
  Result<Json> ask(const char* method, const char* path, const Json& body) const {
    HttpCall call;
    call.method = method;
    call.path = path;
    call.headers = headers_;
    call.timeout = std::chrono::seconds(60);
    if (!body.is_null()) {
      call.body = to_json(body);
    }
    const std::string answer = TRY(call_server(target_, std::move(call)));
    return parse_json(answer, std::string("the server's answer to ") + path);
  }

  HttpTarget target_;
  Headers headers_;
};

Result<LoadRequest> make_request(const BenchServeCommand& command, const BenchedServer& server,
                                 const RandomPrompt& prompt) {
  JsonObject body{{"model", command.model}};
  if (command.backend == "openai-chat") {
    const std::string text = TRY(server.text_of(command.model, prompt.tokens));
    body.emplace_back("messages", JsonArray{JsonObject{{"role", "user"}, {"content", text}}});
    body.emplace_back("max_completion_tokens", prompt.output_len);
  } else {
    body.emplace_back("prompt", JsonArray(prompt.tokens.begin(), prompt.tokens.end()));
    body.emplace_back("max_tokens", prompt.output_len);
  }
  body.emplace_back("temperature", command.temperature);
  body.emplace_back("stream", true);
  body.emplace_back("stream_options", JsonObject{{"include_usage", true}});
  if (command.ignore_eos) {
    body.emplace_back("ignore_eos", true);
  }
  return LoadRequest{.body = to_json(Json(std::move(body))),
                     .prompt_tokens = static_cast<std::int64_t>(prompt.tokens.size())};
}

Result<std::vector<LoadRequest>> make_requests(const BenchServeCommand& command,
                                               const BenchedServer& server) {
  std::vector<TokenId> vocabulary;
  if (command.vocab_size > 0) {
    for (std::int64_t id = 0; id < command.vocab_size; ++id) {
      vocabulary.push_back(static_cast<TokenId>(id));
    }
  } else {
    vocabulary = TRY(server.ordinary_tokens(command.model));
  }
  std::vector<LoadRequest> requests;
  for (const RandomPrompt& prompt : TRY(draw_prompts(command.prompts, vocabulary))) {
    requests.push_back(TRY(make_request(command, server, prompt)));
  }
  return requests;
}

/// "20261201-143000", in UTC.
std::string date_text(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return text;
}

Status save(const BenchServeCommand& command, const ServeSummary& summary, const LoadResult& load) {
  const SystemClock clock;
  const std::string date = date_text(clock.unix_seconds());
  const bool limited = std::isfinite(command.load.request_rate);
  const Json rate = limited ? Json(command.load.request_rate) : Json("inf");
  JsonObject json{{"date", date},
                  {"endpoint_type", command.backend},
                  {"backend", command.backend},
                  {"model_id", command.model},
                  {"num_prompts", command.prompts.count}};
  for (const std::string& text : command.metadata) {
    const auto [name, value] = TRY(parse_assignment("--metadata", text));
    json.emplace_back(name, value);
  }
  json.emplace_back("request_rate", rate);
  json.emplace_back("burstiness", command.load.burstiness);
  json.emplace_back("max_concurrency",
                    command.load.max_concurrency > 0 ? Json(command.load.max_concurrency) : Json());
  for (JsonMember& member : serve_json(summary, load, command.report)) {
    json.push_back(std::move(member));
  }
  std::string name = command.result_filename;
  if (name.empty()) {
    std::string model = command.model.substr(command.model.rfind('/') + 1);
    name = fmt::format("{}-{}qps-{}-{}.json", command.backend, command.request_rate, model, date);
  }
  return write_result(command.result_dir.empty() ? name : command.result_dir + "/" + name,
                      Json(std::move(json)));
}

/// The first failure, so that its cause is seen once and not a thousand times.
const Outcome* first_failure(const LoadResult& load) {
  const auto found = std::find_if(load.outcomes.begin(), load.outcomes.end(),
                                  [](const Outcome& outcome) { return !outcome.error.ok(); });
  return found == load.outcomes.end() ? nullptr : &*found;
}

}  // namespace

Status bench_serve(BenchServeCommand command, std::FILE* out) {
  TRY(read_options(command));
  const std::string url = command.base_url.empty()
                              ? fmt::format("http://{}:{}", command.host, command.port)
                              : command.base_url;
  const BenchedServer server(TRY(parse_base_url(url)), command.load.headers);
  if (command.model.empty()) {
    command.model = TRY(server.first_model());
  }
  std::vector<LoadRequest> requests = TRY(make_requests(command, server));
  if (command.warmups > 0) {
    std::vector<LoadRequest> first;
    for (std::int64_t i = 0; i < command.warmups; ++i) {
      first.push_back(requests[static_cast<std::size_t>(i) % requests.size()]);
    }
    run_load(server.target(), std::move(first), command.load, [] {});
  }
  const std::size_t count = requests.size();
  std::size_t ended = 0;
  const bool shows_progress = !command.quiet && ::isatty(STDERR_FILENO) == 1;
  const LoadResult load =
      run_load(server.target(), std::move(requests), command.load, [&ended, count, shows_progress] {
        ++ended;
        if (shows_progress) {
          fmt::print(stderr, "\r{}/{} requests", ended, count);
        }
      });
  if (shows_progress) {
    fmt::print(stderr, "\n");
  }
  const ServeSummary summary = TRY(summarize(load, command.report));
  fmt::print(out, "{}", serve_text(summary, command.report));
  if (command.save_result) {
    TRY(save(command, summary, load));
  }
  const Outcome* failure = first_failure(load);
  if (failure != nullptr) {
    fmt::print(stderr, "godwit: the first request that failed: {}\n", failure->error.message());
  }
  return summary.completed > 0 ? Status() : unavailable("no request succeeded");
}

}  // namespace godwit
