#pragma once
// What the tests of the API share: an engine whose outputs the test plays, an exchange that records
// what is sent, and a model whose tokens are bytes.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "server/router.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace godwit {

/// Takes every request, and answers when the test says so.
class ScriptedEngine final : public EngineClient {
 public:
  Result<RequestKey> submit(Request request, DeltaSink sink) override {
    if (!refusal.ok()) {
      return refusal;
    }
    requests.push_back(std::move(request));
    sinks.push_back(std::move(sink));
    return RequestKey(static_cast<std::int64_t>(requests.size()) - 1);
  }
  void abort(RequestKey key) override { aborted.push_back(static_cast<std::int64_t>(key)); }
  void drain() override {}
  [[nodiscard]] bool alive() const override { return is_alive; }
  [[nodiscard]] EngineLimits limits() const override {
    return {.max_model_len = 100, .vocab_size = 300, .max_logprobs = 5};
  }
  [[nodiscard]] std::string metrics_text() override { return "metrics 1\n"; }

  /// Plays an output: its text a byte a token, all in one delta.
  void play(std::size_t request, std::int32_t index, const std::string& text,
            std::optional<FinishReason> reason) {
    Delta delta;
    delta.index = index;
    delta.text = text;
    for (const char c : text) {
      delta.token_ids.push_back(static_cast<unsigned char>(c));
    }
    delta.finish_reason = reason;
    sinks[request](std::move(delta));
  }

  Status refusal;
  bool is_alive = true;
  std::vector<Request> requests;
  std::vector<DeltaSink> sinks;
  std::vector<std::int64_t> aborted;
};

class RecordingExchange final : public Exchange {
 public:
  explicit RecordingExchange(HttpRequest request) : request_(std::move(request)) {}

  [[nodiscard]] HttpRequest& request() override { return request_; }
  void respond(HttpResponse sent) override {
    EXPECT_FALSE(answered);
    answered = true;
    response = std::move(sent);
  }
  void start_stream(HttpResponse head) override {
    EXPECT_FALSE(answered);
    answered = true;
    response = std::move(head);
  }
  void write(std::string data) override {
    EXPECT_TRUE(answered && !finished);
    response.body += data;
  }
  void finish() override {
    EXPECT_FALSE(finished);
    finished = true;
  }
  void on_disconnect(std::function<void()> callback) override { disconnect = std::move(callback); }
  void on_interrupt(std::function<void()> callback) override { interrupt = std::move(callback); }
  void post(std::function<void()> function) override { function(); }

  /// The body as JSON.
  [[nodiscard]] Json json() const {
    const auto parsed = parse_json(response.body, "body");
    EXPECT_TRUE(parsed.ok()) << response.body;
    return parsed.ok() ? *parsed : Json();
  }
  /// The events of a finished stream, without [DONE].
  [[nodiscard]] std::vector<Json> events() const {
    std::vector<Json> out;
    const std::string& body = response.body;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = body.find("\n\n", begin)) != std::string::npos;
         begin = end + 2) {
      const std::string line = body.substr(begin, end - begin);
      EXPECT_TRUE(line.starts_with("data: ")) << line;
      if (line == "data: [DONE]") {
        EXPECT_EQ(end + 2, body.size());
        EXPECT_TRUE(finished);
        continue;
      }
      const auto parsed = parse_json(line.substr(6), "event");
      EXPECT_TRUE(parsed.ok()) << line;
      out.push_back(parsed.ok() ? *parsed : Json());
    }
    return out;
  }

  HttpResponse response;
  bool answered = false;
  bool finished = false;
  std::function<void()> disconnect;
  std::function<void()> interrupt;

 private:
  HttpRequest request_;
};

class FixedClock final : public Clock {
 public:
  [[nodiscard]] Duration now() const override { return {}; }
  [[nodiscard]] std::int64_t unix_seconds() const override { return 1'700'000'000; }
};

/// A byte as GPT-2's vocabularies write it.
inline std::string byte_character(int byte) {
  const auto is_plain = [](int b) {
    return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
  };
  int code = byte;
  if (!is_plain(byte)) {
    code = 256;
    for (int other = 0; other < byte; ++other) {
      code += is_plain(other) ? 0 : 1;
    }
  }
  if (code < 0x80) {
    return std::string(1, static_cast<char>(code));
  }
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

/// A tokenizer whose token i is byte i, and 256 is the special token <|end|>.
inline std::shared_ptr<const Tokenizer> byte_tokenizer() {
  Json vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.set(byte_character(byte), byte);
  }
  vocabulary.set("<|end|>", 256);
  const Json byte_level = JsonObject{{"type", "ByteLevel"},
                                     {"add_prefix_space", false},
                                     {"trim_offsets", true},
                                     {"use_regex", false}};
  const Json end = JsonObject{{"id", 256},       {"content", "<|end|>"}, {"single_word", false},
                              {"lstrip", false}, {"rstrip", false},      {"normalized", false},
                              {"special", true}};
  const Json description = JsonObject{
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", JsonArray{end}},
      {"normalizer", nullptr},
      {"pre_tokenizer", byte_level},
      {"post_processor", nullptr},
      {"decoder", byte_level},
      {"model", JsonObject{{"type", "BPE"}, {"vocab", vocabulary}, {"merges", JsonArray()}}}};
  auto tokenizer = Tokenizer::from_json(description, nullptr);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return std::make_shared<const Tokenizer>(std::move(tokenizer).value());
}

constexpr const char* kChatTemplate =
    "{% for m in messages %}{% if m.role == 'bad' %}{{ raise_exception('bad role') }}{% endif %}"
    "[{{ m.role }}]{{ m.content }}{% endfor %}"
    "{% if tools %}<{{ tools|length }}>{% endif %}{% if extra %}({{ extra }}){% endif %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}";

/// The API over a scripted engine.
class Api {
 public:
  explicit Api(bool with_text = true, const std::vector<std::string>& keys = {}) {
    auto scripted = std::make_unique<ScriptedEngine>();
    engine = scripted.get();
    context.engine = std::move(scripted);
    context.clock = &clock_;
    context.version = "1.2.3";
    context.model.names = {"bytes", "alias"};
    context.model.root = "/models/bytes";
    context.model.created = 1'600'000'000;
    context.model.max_model_len = 100;
    if (with_text) {
      context.model.tokenizer = byte_tokenizer();
      auto chat = ChatTemplate::create(kChatTemplate, {});
      EXPECT_TRUE(chat.ok()) << chat.status().message();
      context.model.chat_template = std::make_shared<const ChatTemplate>(std::move(chat).value());
    }
    router_ = std::make_unique<Router>(context, keys);
  }

  std::shared_ptr<RecordingExchange> ask(const std::string& method, const std::string& path,
                                         const std::string& body = {},
                                         std::vector<HttpHeader> headers = {}) {
    auto exchange = std::make_shared<RecordingExchange>(
        HttpRequest{.method = method, .path = path, .headers = std::move(headers), .body = body});
    router_->route(exchange);
    return exchange;
  }
  std::shared_ptr<RecordingExchange> chat(const std::string& body) {
    return ask("POST", "/v1/chat/completions", body);
  }
  std::shared_ptr<RecordingExchange> complete(const std::string& body) {
    return ask("POST", "/v1/completions", body);
  }
  /// The prompt of a submitted request, as text.
  [[nodiscard]] std::string prompt(std::size_t request) const {
    std::string text;
    for (const TokenId id : engine->requests.at(request).prompt) {
      text.push_back(static_cast<char>(id));
    }
    return text;
  }

  ServerContext context;
  ScriptedEngine* engine = nullptr;

 private:
  FixedClock clock_;
  std::unique_ptr<Router> router_;
};

/// The member at a path such as "choices.0.text"; null when there is none.
inline Json at(const Json& value, const std::string& path) {
  const Json* found = &value;
  std::size_t begin = 0;
  while (begin <= path.size() && found != nullptr) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string step = path.substr(begin, end - begin);
    if (found->is_array()) {
      const auto index = static_cast<std::size_t>(std::stoul(step));
      found = index < found->as_array().size() ? &found->as_array()[index] : nullptr;
    } else {
      found = found->find(step);
    }
    begin = end + 1;
  }
  return found == nullptr ? Json() : *found;
}

}  // namespace godwit
