#include "server/server.h"

#include <future>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "server/raw_client_test_support.h"

namespace godwit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Hands its one request over to the test, which plays the engine's thread.
class OneRequestEngine final : public EngineClient {
 public:
  Result<RequestKey> submit(Request /*request*/, DeltaSink sink) override {
    sink_.set_value(std::move(sink));
    return RequestKey(7);
  }
  void abort(RequestKey key) override { aborted_.set_value(static_cast<std::int64_t>(key)); }
  void drain() override { drained_.set_value(); }
  [[nodiscard]] bool alive() const override { return true; }
  [[nodiscard]] EngineLimits limits() const override {
    return {.max_model_len = 100, .vocab_size = 300, .max_logprobs = 5};
  }
  [[nodiscard]] std::string metrics_text() override { return {}; }

  DeltaSink wait_for_request() { return sink_.get_future().get(); }
  std::future<std::int64_t> aborted() { return aborted_.get_future(); }
  std::future<void> drained() { return drained_.get_future(); }

 private:
  std::promise<DeltaSink> sink_;
  std::promise<std::int64_t> aborted_;
  std::promise<void> drained_;
};

struct Running {
  Running() {
    auto owned = std::make_unique<OneRequestEngine>();
    engine = owned.get();
    ServerOptions options;
    options.http.port = 0;
    options.model.names = {"m"};
    options.model.max_model_len = 100;
    auto created = Server::create(std::move(options), std::move(owned), clock);
    EXPECT_TRUE(created.ok()) << created.status().message();
    server = std::move(created).value();
    server->start();
  }

  SystemClock clock;
  OneRequestEngine* engine = nullptr;
  std::unique_ptr<Server> server;
};

Delta delta(TokenId token, std::optional<FinishReason> reason) {
  Delta result;
  result.token_ids = {token};
  result.finish_reason = reason;
  return result;
}

std::string post(const std::string& body) {
  return "POST /v1/completions HTTP/1.1\r\nHost: x\r\nOrigin: http://y\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

constexpr const char* kStream = R"({"prompt":[1],"stream":true,"return_token_ids":true})";

TEST(Server, StreamsWhatTheEnginesThreadSays) {
  const Running running;
  RawClient client(running.server->port());
  client.send(post(kStream));
  const DeltaSink sink = running.engine->wait_for_request();
  sink(delta(42, std::nullopt));
  EXPECT_NE(client.read_until("\n\n").find("Access-Control-Allow-Origin: *"), std::string::npos);
  sink(delta(43, FinishReason::kStop));
  const std::string rest = client.read_until("0\r\n\r\n");
  EXPECT_NE(rest.find(R"("token_ids":[43])"), std::string::npos) << rest;
  EXPECT_NE(rest.find("data: [DONE]"), std::string::npos) << rest;
  client.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.read_response().starts_with("HTTP/1.1 200 "));
}

TEST(Server, AClientThatLeavesAbortsItsRequest) {
  const Running running;
  RawClient client(running.server->port());
  client.send(post(kStream));
  const DeltaSink sink = running.engine->wait_for_request();
  auto aborted = running.engine->aborted();
  client.close();
  ASSERT_EQ(aborted.wait_for(seconds(20)), std::future_status::ready);
  EXPECT_EQ(aborted.get(), 7);
  sink(delta(42, FinishReason::kAbort));
}

TEST(Server, StopWaitsForTheRunningRequest) {
  const Running running;
  RawClient client(running.server->port());
  client.send(post(R"({"prompt":[1],"return_token_ids":true})"));
  const DeltaSink sink = running.engine->wait_for_request();
  auto drained = running.engine->drained();
  auto stopped = std::async(std::launch::async, [&] { running.server->stop(seconds(20)); });
  ASSERT_EQ(drained.wait_for(seconds(20)), std::future_status::ready);
  sink(delta(42, FinishReason::kStop));
  EXPECT_NE(client.read_to_end().find(R"("token_ids":[42])"), std::string::npos);
  stopped.get();
}

}  // namespace
}  // namespace godwit
