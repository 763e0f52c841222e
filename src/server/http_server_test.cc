#include "server/http_server.h"

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "server/raw_client_test_support.h"

namespace godwit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A server whose handler the test gives.
struct Running {
  explicit Running(HttpHandler handler, HttpServerOptions options = {}) {
    options.port = 0;
    auto created = HttpServer::create(options, std::move(handler));
    EXPECT_TRUE(created.ok()) << created.status().message();
    server = std::move(created).value();
    server->start();
  }
  std::unique_ptr<HttpServer> server;
  [[nodiscard]] std::uint16_t port() const { return server->port(); }
};

void echo(std::shared_ptr<Exchange> exchange) {
  const HttpRequest& request = exchange->request();
  exchange->respond({.content_type = "text/plain",
                     .body = request.method + " " + request.path + " " + request.body});
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Keeps one exchange for the test to answer.
class Holder {
 public:
  void operator()(std::shared_ptr<Exchange> exchange) {
    exchange->on_disconnect([this] {
      has_left_ = true;
      left_.set_value();
    });
    held_.set_value(std::move(exchange));
  }
  std::shared_ptr<Exchange> wait() { return held_.get_future().get(); }
  [[nodiscard]] bool has_left() const { return has_left_; }
  bool client_left() {
    return left_.get_future().wait_for(seconds(20)) == std::future_status::ready;
  }

 private:
  std::promise<std::shared_ptr<Exchange>> held_;
  std::promise<void> left_;
  std::atomic<bool> has_left_ = false;
};

TEST(HttpServer, AnswersOneRequestAfterAnotherOnOneConnection) {
  const Running running(&echo);
  RawClient client(running.port());
  for (int i = 0; i < 3; ++i) {
    client.send("POST /a%20b?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
    const std::string response = client.read_response();
    EXPECT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n")) << response;
    EXPECT_TRUE(response.ends_with("\r\n\r\nPOST /a b hello")) << response;
    EXPECT_FALSE(has(response, "Connection: close"));
  }
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  const Running running(&echo);
  RawClient client(running.port());
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  client.send(requests);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(client.read_response().ends_with("GET /" + std::to_string(i) + " "));
  }
}

TEST(HttpServer, WhatComesWhileEarlierRequestsAreAnsweredIsReadAsItCame) {
  const Running running(&echo);
  RawClient client(running.port());
  for (int i = 0; i < 50; ++i) {
    // The server waits for more bytes while it still has requests to take from those it read.
    std::string requests;
    for (const char* name : {"a", "b", "c"}) {
      requests += "GET /" + std::to_string(i) + name + " HTTP/1.1\r\nHost: x\r\n\r\n";
    }
    client.send(requests);
    for (const char* name : {"a", "b", "c"}) {
      const std::string answer = client.read_response();
      ASSERT_TRUE(answer.ends_with("GET /" + std::to_string(i) + name + " ")) << answer;
    }
  }
}

TEST(HttpServer, FinishesPipelinedRequestsOfAClientThatSendsNoMore) {
  const Running running(&echo);
  RawClient client(running.port());
  client.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  client.shutdown_send();
  const std::string all = client.read_to_end();
  EXPECT_TRUE(has(all, "GET /1 ")) << all;
  EXPECT_TRUE(has(all, "GET /2 ")) << all;
}

TEST(HttpServer, TakesARequestByteByByte) {
  const Running running(&echo);
  RawClient client(running.port());
  for (const char c : std::string("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")) {
    client.send(std::string_view(&c, 1));
  }
  EXPECT_TRUE(client.read_response().ends_with("POST / abcde"));
}

TEST(HttpServer, SendsTheHeadAloneForHead) {
  const Running running(&echo);
  RawClient client(running.port());
  client.send("HEAD /x HTTP/1.1\r\nHost: x\r\n\r\nGET /y HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(has(client.read_until("\r\n\r\n"), "Content-Length: 8\r\n"));
  EXPECT_TRUE(client.read_response().ends_with("GET /y "));
}

TEST(HttpServer, ClosesWhenAskedTo) {
  const Running running(&echo);
  RawClient client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(has(client.read_to_end(), "Connection: close\r\n"));
}

TEST(HttpServer, ContinuesAClientThatWaitsBeforeItsBody) {
  const Running running(&echo);
  RawClient client(running.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_TRUE(client.read_response().ends_with("POST / ok"));
  client.send("GET /again HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.read_response().ends_with("GET /again "));
}

TEST(HttpServer, RefusesBodiesThatAreTooLarge) {
  const Running running(&echo, {.max_body_bytes = 1000});
  {
    RawClient client(running.port());
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
    const std::string response = client.read_to_end();
    EXPECT_TRUE(response.starts_with("HTTP/1.1 413 ")) << response;
    EXPECT_TRUE(has(response, R"("type":"invalid_request_error")"));
  }
  RawClient client(running.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n");
  client.send(std::string(2000, 'x'));
  EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.1 413 "));
}

TEST(HttpServer, RefusesHeadsThatAreTooLargeAndWhatIsNoHttp) {
  const Running running(&echo, {.max_header_bytes = 1000});
  {
    RawClient client(running.port());
    client.send("GET / HTTP/1.1\r\nX: " + std::string(2000, 'x') + "\r\n\r\n");
    EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.1 431 "));
  }
  RawClient client(running.port());
  client.send("\x16\x03\x01 hello\r\n\r\n");
  EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.1 400 "));
}

TEST(HttpServer, RefusesABodyWhoseEndItCannotKnow) {
  const Running running(&echo);
  RawClient client(running.port());
  client.send(
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"
      "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string all = client.read_to_end();
  EXPECT_TRUE(all.starts_with("HTTP/1.1 501 ")) << all;
  EXPECT_FALSE(has(all, "/hidden")) << all;
}

TEST(HttpServer, RefusesARequestWithoutOneHost) {
  const Running running(&echo);
  for (const char* hosts : {"", "Host: a\r\nHost: b\r\n"}) {
    RawClient client(running.port());
    client.send("GET /hidden HTTP/1.1\r\n" + std::string(hosts) + "\r\n");
    EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.1 400 ")) << hosts;
  }
  RawClient older(running.port());
  older.send("GET /x HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(has(older.read_to_end(), "GET /x "));
}

TEST(HttpServer, GivesUpOnAClientThatNeverEndsItsRequest) {
  const Running running(&echo, {.read_timeout = milliseconds(50)});
  RawClient client(running.port());
  client.send("GET / HTTP/1.1\r\nHost:");
  EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.1 408 "));
}

TEST(HttpServer, ClosesAConnectionThatIsIdle) {
  const Running running(&echo, {.idle_timeout = milliseconds(50)});
  RawClient client(running.port());
  client.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.read_to_end().ends_with("GET /1 "));
}

TEST(HttpServer, StreamsInChunksAndKeepsTheConnection) {
  const Running running([](std::shared_ptr<Exchange> exchange) {
    exchange->start_stream({.content_type = "text/event-stream"});
    exchange->write("one");
    exchange->write("twenty characters...");
    exchange->finish();
  });
  RawClient client(running.port());
  for (int i = 0; i < 2; ++i) {
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(has(client.read_until("\r\n\r\n"), "Transfer-Encoding: chunked\r\n"));
    EXPECT_EQ(client.read_until("0\r\n\r\n"),
              "3\r\none\r\n14\r\ntwenty characters...\r\n0\r\n\r\n");
  }
}

TEST(HttpServer, StreamsToTheEndOfTheConnectionForHttp10) {
  const Running running([](std::shared_ptr<Exchange> exchange) {
    exchange->start_stream({});
    exchange->write("data");
    exchange->finish();
  });
  RawClient client(running.port());
  client.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(client.read_to_end().ends_with("\r\n\r\ndata"));
}

TEST(HttpServer, RunsPostedFunctionsAndAnswersFromOtherThreads) {
  const Running running([](std::shared_ptr<Exchange> exchange) {
    std::thread([exchange] {
      exchange->post([exchange] { exchange->respond({.content_type = {}, .body = "later"}); });
    }).detach();
  });
  RawClient client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.read_response().ends_with("later"));
}

TEST(HttpServer, TellsTheHandlerWhenTheClientLeavesBeforeTheAnswer) {
  Holder holder;
  const Running running([&](std::shared_ptr<Exchange> exchange) { holder(std::move(exchange)); });
  RawClient client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = holder.wait();
  client.close();
  EXPECT_TRUE(holder.client_left());
  exchange->post([] { FAIL() << "nobody is there"; });
}

TEST(HttpServer, TellsTheHandlerWhenTheClientLeavesDuringAStream) {
  Holder holder;
  const Running running([&](std::shared_ptr<Exchange> exchange) {
    exchange->start_stream({});
    exchange->write("x");
    holder(std::move(exchange));
  });
  RawClient client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = holder.wait();
  client.read_until("x\r\n");
  client.close();
  EXPECT_TRUE(holder.client_left());
}

TEST(HttpServer, AnswersAClientThatSendsNoMore) {
  Holder holder;
  const Running running([&](std::shared_ptr<Exchange> exchange) { holder(std::move(exchange)); });
  RawClient client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  auto exchange = holder.wait();
  client.shutdown_send();
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  exchange->post([exchange] { exchange->respond({.content_type = {}, .body = "late"}); });
  exchange.reset();
  EXPECT_TRUE(client.read_to_end().ends_with("late"));
}

TEST(HttpServer, StreamsOnToAClientThatSendsNoMore) {
  Holder holder;
  const Running running([&](std::shared_ptr<Exchange> exchange) {
    exchange->start_stream({.blank = "-"});
    holder(std::move(exchange));
  });
  RawClient client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  auto exchange = holder.wait();
  client.shutdown_send();
  client.read_until("\r\n\r\n");
  EXPECT_EQ(client.read_until("-\r\n"), "1\r\n-\r\n");
  exchange->post([exchange] {
    exchange->write("late");
    exchange->finish();
  });
  exchange.reset();
  EXPECT_EQ(client.read_to_end(), "4\r\nlate\r\n0\r\n\r\n");
}

TEST(HttpServer, NoticesThatAClientThatSendsNoMoreHasLeft) {
  Holder holder;
  const Running running([&](std::shared_ptr<Exchange> exchange) {
    exchange->start_stream({.blank = "-"});
    holder(std::move(exchange));
  });
  RawClient client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = holder.wait();
  client.shutdown_send();
  client.read_until("-\r\n");
  EXPECT_FALSE(holder.has_left());
  client.close();
  exchange->post([exchange] { exchange->write("who is there?"); });
  EXPECT_TRUE(holder.client_left());
}

TEST(HttpServer, RefusesATrailerThatIsTooLarge) {
  const Running running(&echo, {.max_header_bytes = 1000});
  for (const char* end : {"", "\r\n\r\n"}) {
    RawClient client(running.port());
    client.send(
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: " +
        std::string(2000, 'x') + end);
    EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.1 431 ")) << end;
  }
}

TEST(HttpServer, StopLetsAnInterruptedStreamSayWhy) {
  Holder holder;
  Running running([&](std::shared_ptr<Exchange> exchange) {
    exchange->start_stream({});
    exchange->on_interrupt([exchange = exchange.get()] {
      exchange->write("over");
      exchange->finish();
    });
    holder(std::move(exchange));
  });
  RawClient client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = holder.wait();
  running.server->stop(milliseconds(0));
  EXPECT_TRUE(client.read_to_end().ends_with("4\r\nover\r\n0\r\n\r\n"));
  EXPECT_FALSE(holder.has_left());
}

TEST(HttpServer, GivesUpOnAClientThatDoesNotReadItsStream) {
  std::promise<void> left;
  const Running running(
      [&](std::shared_ptr<Exchange> exchange) {
        exchange->on_disconnect([&] { left.set_value(); });
        exchange->start_stream({});
        for (int i = 0; i < 200; ++i) {
          exchange->write(std::string(100'000, 'x'));
        }
      },
      {.max_unsent_bytes = 1'000'000});
  RawClient client(running.port(), 4096);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(left.get_future().wait_for(seconds(20)), std::future_status::ready);
}

TEST(HttpServer, Answers500ForHandlersThatThrowOrForget) {
  const Running running([](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/throw") {
      throw std::runtime_error("no");
    }
  });
  RawClient client(running.port());
  client.send("GET /throw HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.read_response().starts_with("HTTP/1.1 500 "));
  client.send("GET /forget HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.read_response().starts_with("HTTP/1.1 500 "));
}

TEST(HttpServer, RefusesConnectionsAboveTheLimit) {
  const Running running(&echo, {.max_connections = 1});
  RawClient first(running.port());
  first.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(first.read_response().ends_with("GET /1 "));
  RawClient second(running.port());
  EXPECT_TRUE(second.read_to_end().starts_with("HTTP/1.1 503 "));
}

TEST(HttpServer, StopLetsARunningExchangeFinish) {
  Holder holder;
  Running running([&](std::shared_ptr<Exchange> exchange) { holder(std::move(exchange)); });
  RawClient idle(running.port());
  RawClient client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  auto exchange = holder.wait();
  std::thread stopping([&] { running.server->stop(seconds(20)); });
  EXPECT_EQ(idle.read_to_end(), "");  // Closed: stop() has begun.
  exchange->post([exchange] { exchange->respond({.content_type = {}, .body = "done"}); });
  exchange.reset();
  EXPECT_TRUE(client.read_to_end().ends_with("done"));
  stopping.join();
}

TEST(HttpServer, StopDoesNotWaitForARequestThatHasComeInPart) {
  Running running(&echo);
  RawClient client(running.port());
  client.send(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
      "Content-Length: 5\r\n\r\n");
  EXPECT_TRUE(client.read_response().ends_with("GET /1 "));
  client.read_until("100 Continue\r\n\r\n");  // The second head was read.
  std::thread stopping([&] { running.server->stop(seconds(3600)); });
  EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.1 503 "));
  client.close();
  stopping.join();
}

TEST(HttpServer, StopDropsWhatIsNotFinishedInTime) {
  Holder holder;
  Running running([&](std::shared_ptr<Exchange> exchange) { holder(std::move(exchange)); });
  RawClient client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = holder.wait();
  running.server->stop(milliseconds(0));
  EXPECT_TRUE(holder.client_left());
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(HttpServer, StopNowEndsThePatience) {
  Holder holder;
  Running running([&](std::shared_ptr<Exchange> exchange) { holder(std::move(exchange)); });
  RawClient client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = holder.wait();
  std::thread stopping([&] { running.server->stop(seconds(3600)); });
  running.server->stop_now();
  stopping.join();
  EXPECT_TRUE(holder.client_left());
}

TEST(HttpServer, NamesTheAddressThatItCannotHave) {
  const Running running(&echo);
  const auto second = HttpServer::create({.port = running.port()}, &echo);
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(has(second.status().message(), "127.0.0.1:" + std::to_string(running.port())));
  const auto nowhere = HttpServer::create({.host = "no host", .port = 0}, &echo);
  EXPECT_FALSE(nowhere.ok());
}

TEST(DecodePath, DropsTheQueryAndDecodes) {
  EXPECT_EQ(decode_path("/v1/models/a%2Fb?x=%20"), "/v1/models/a/b");
  EXPECT_EQ(decode_path("/%zz%2"), "/%zz%2");
  EXPECT_EQ(decode_path(""), "");
  EXPECT_EQ(decode_path("http://host:8000/v1/models?x"), "/v1/models");
  EXPECT_EQ(decode_path("http://host"), "/");
}

}  // namespace
}  // namespace godwit
