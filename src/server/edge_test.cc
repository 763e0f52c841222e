#include "server/edge.h"

#include "server/api_test_support.h"

namespace godwit {
namespace {

/// An edge before a handler that keeps its exchange.
struct Front {
  explicit Front(EdgeOptions options = {})
      : edge(std::move(options), ids, clock,
             [this](std::shared_ptr<Exchange> exchange) { held = std::move(exchange); }) {}

  std::shared_ptr<RecordingExchange> ask(const std::string& method, const std::string& path,
                                         std::vector<HttpHeader> headers = {}) {
    auto exchange = std::make_shared<RecordingExchange>(
        HttpRequest{.method = method, .path = path, .headers = std::move(headers), .body = {}});
    edge.handle(exchange);
    return exchange;
  }

  IdSource ids;
  FixedClock clock;
  std::shared_ptr<Exchange> held;
  Edge edge;
};

std::string header(const HttpResponse& response, std::string_view name) {
  for (const HttpHeader& one : response.headers) {
    if (one.name == name) {
      return one.value;
    }
  }
  return {};
}

TEST(Edge, TakesTheProxysPrefixOffWholeSegments) {
  Front front({.root_path = "/api/"});
  for (const auto& [path, inner] :
       {std::pair("/api/v1/models", "/v1/models"), std::pair("/v1/models", "/v1/models"),
        std::pair("/api", "/"), std::pair("/apiary", "/apiary")}) {
    front.ask("GET", path);
    EXPECT_EQ(front.held->request().path, inner);
  }
}

TEST(Edge, GivesIdsAndTellsThemWhenAsked) {
  Front front({.request_id_headers = true});
  auto exchange = front.ask("GET", "/", {{"x-request-id", "mine"}});
  EXPECT_EQ(front.held->request().id, "mine");
  front.held->respond({});
  EXPECT_EQ(header(exchange->response, "X-Request-Id"), "mine");
  exchange = front.ask("GET", "/", {{"X-Request-Id", std::string(1000, 'x')}});
  EXPECT_EQ(front.held->request().id.size(), 32U);
  front.held->start_stream({});
  EXPECT_EQ(header(exchange->response, "X-Request-Id"), front.held->request().id);
  Front quiet;
  exchange = quiet.ask("GET", "/", {{"X-Request-Id", "mine"}});
  quiet.held->respond({});
  EXPECT_EQ(header(exchange->response, "X-Request-Id"), "");
}

TEST(Edge, NamesItsSpanToTheCaller) {
  Front front;
  const auto exchange = front.ask(
      "GET", "/", {{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}});
  front.held->respond({});
  const std::string trace = header(exchange->response, "traceresponse");
  EXPECT_EQ(trace.substr(0, 36), "00-0af7651916cd43dd8448eb211c80319c-");
  EXPECT_EQ(trace.size(), 55U);
  EXPECT_EQ(trace.find("b7ad6b7169203331"), std::string::npos);
}

TEST(Edge, AnswersPreflightsItself) {
  Front front;
  const auto exchange = front.ask(
      "OPTIONS", "/x", {{"Origin", "http://x"}, {"Access-Control-Request-Method", "POST"}});
  EXPECT_EQ(front.held, nullptr);
  EXPECT_EQ(exchange->response.status, 200);
  EXPECT_EQ(header(exchange->response, "Access-Control-Allow-Origin"), "*");
}

TEST(Edge, PassesOnThatTheClientLeftAndThatTheServerStops) {
  Front front;
  const auto exchange = front.ask("GET", "/");
  int left = 0;
  int interrupted = 0;
  front.held->on_disconnect([&] { ++left; });
  front.held->on_interrupt([&] { ++interrupted; });
  exchange->interrupt();
  exchange->disconnect();
  EXPECT_EQ(interrupted, 1);
  EXPECT_EQ(left, 1);
  front.held->on_disconnect([&] { ++left; });  // It has left already.
  EXPECT_EQ(left, 2);
}

}  // namespace
}  // namespace godwit
