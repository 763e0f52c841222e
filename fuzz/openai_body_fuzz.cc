// Hostile request bodies: the first byte chooses the endpoint, the rest is the body. Each is
// answered exactly once, with well-formed JSON, and never as a fault of the server.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/log.h"
#include "server/router.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace godwit {
namespace {

/// Keeps what is submitted; the fuzzer ends it afterwards.
class PatientEngine final : public EngineClient {
 public:
  Result<RequestKey> submit(Request request, DeltaSink sink) override {
    CHECK(validate(request.sampling).ok());
    CHECK(!request.prompt.empty());
    waiting.emplace_back(request.n, std::move(sink));
    return RequestKey(static_cast<std::int64_t>(waiting.size()));
  }
  void abort(RequestKey /*key*/) override {}
  void drain() override {}
  [[nodiscard]] bool alive() const override { return true; }
  [[nodiscard]] EngineLimits limits() const override {
    return {.max_model_len = 1000, .vocab_size = 100, .max_logprobs = 5};
  }
  [[nodiscard]] std::string metrics_text() override { return {}; }

  std::vector<std::pair<std::int32_t, DeltaSink>> waiting;
};

class CountingExchange final : public Exchange {
 public:
  explicit CountingExchange(HttpRequest request) : request_(std::move(request)) {}
  [[nodiscard]] HttpRequest& request() override { return request_; }
  void respond(HttpResponse response) override {
    ++answers;
    CHECK(response.status == 200 || response.status == 400 || response.status == 404);
    CHECK(parse_json(response.body, "response").ok());
  }
  void start_stream(HttpResponse /*head*/) override { ++answers; }
  void write(std::string data) override { CHECK(data.starts_with("data: ")); }
  void finish() override {}
  void on_disconnect(std::function<void()> /*callback*/) override {}
  void on_interrupt(std::function<void()> /*callback*/) override {}
  void post(std::function<void()> function) override { function(); }

  int answers = 0;

 private:
  HttpRequest request_;
};

/// A model whose vocabulary is a few letters.
void set_up(ServerContext& context) {
  const Json description =
      parse_json(R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"e":2,"r":3,"s":4,"u":5},)"
                 R"("merges":[]},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,)"
                 R"("trim_offsets":true,"use_regex":false},"decoder":{"type":"ByteLevel"},)"
                 R"("added_tokens":[]})",
                 "tokenizer")
          .value();
  context.model.names = {"m"};
  context.model.max_model_len = 1000;
  context.model.tokenizer =
      std::make_shared<const Tokenizer>(Tokenizer::from_json(description, nullptr).value());
  context.model.chat_template = std::make_shared<const ChatTemplate>(
      ChatTemplate::create("{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}", {})
          .value());
}

}  // namespace
}  // namespace godwit

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  godwit::log::set_up(godwit::log::Level::kOff);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  constexpr std::array<const char*, 4> kPaths = {"/v1/chat/completions", "/v1/completions",
                                                 "/tokenize", "/detokenize"};
  godwit::ServerContext context;
  godwit::set_up(context);
  const godwit::SystemClock clock;
  context.clock = &clock;
  auto owned = std::make_unique<godwit::PatientEngine>();
  godwit::PatientEngine& engine = *owned;
  context.engine = std::move(owned);
  const godwit::Router router(context, {});
  const auto exchange = std::make_shared<godwit::CountingExchange>(
      godwit::HttpRequest{.method = "POST",
                          .path = kPaths[data[0] % kPaths.size()],
                          .headers = {},
                          .body = std::string(data + 1, data + size)});
  router.route(exchange);
  for (const auto& [outputs, sink] : engine.waiting) {
    for (std::int32_t index = 0; index < outputs; ++index) {
      godwit::Delta delta;
      delta.index = index;
      delta.text = "a";
      delta.token_ids = {0};
      delta.logprobs = {{.token = 0, .logprob = -1.0F, .rank = 1, .top = {{1, -2.0F}}}};
      delta.finish_reason = godwit::FinishReason::kStop;
      sink(std::move(delta));
    }
  }
  CHECK_EQ(exchange->answers, 1);
  return 0;
}
