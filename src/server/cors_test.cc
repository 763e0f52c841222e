#include "server/cors.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

HttpRequest ask(const std::string& method, std::vector<HttpHeader> headers) {
  return {.method = method, .path = "/", .headers = std::move(headers), .body = {}};
}

std::string value(const std::vector<HttpHeader>& headers, std::string_view name) {
  for (const HttpHeader& header : headers) {
    if (header.name == name) {
      return header.value;
    }
  }
  return "none";
}

std::vector<HttpHeader> permitted(const Cors& cors, std::vector<HttpHeader> asked) {
  std::vector<HttpHeader> headers;
  cors.permit(ask("GET", std::move(asked)), headers);
  return headers;
}

// Expected values: what Starlette 0.46's CORSMiddleware answers.
TEST(Cors, EveryOriginMayAskByDefault) {
  const Cors cors({});
  EXPECT_TRUE(permitted(cors, {}).empty());
  EXPECT_EQ(value(permitted(cors, {{"Origin", "http://x"}}), "Access-Control-Allow-Origin"), "*");
  const auto answer = cors.preflight(ask("OPTIONS", {{"Origin", "http://x"},
                                                     {"Access-Control-Request-Method", "POST"},
                                                     {"Access-Control-Request-Headers", "x-a"}}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(value(answer->headers, "Access-Control-Allow-Methods"),
            "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
  EXPECT_EQ(value(answer->headers, "Access-Control-Allow-Headers"), "x-a");
  EXPECT_EQ(value(answer->headers, "Access-Control-Max-Age"), "600");
}

TEST(Cors, OnlyABrowsersQuestionIsAPreflight) {
  const Cors cors({});
  EXPECT_FALSE(cors.preflight(ask("OPTIONS", {{"Origin", "http://x"}})));
  EXPECT_FALSE(cors.preflight(ask("OPTIONS", {{"Access-Control-Request-Method", "GET"}})));
  EXPECT_FALSE(cors.preflight(
      ask("GET", {{"Origin", "http://x"}, {"Access-Control-Request-Method", "GET"}})));
}

TEST(Cors, CredentialsNeedAnOriginByName) {
  const Cors cors({.credentials = true});
  const auto headers = permitted(cors, {{"Origin", "http://x"}});
  EXPECT_EQ(value(headers, "Access-Control-Allow-Origin"), "http://x");
  EXPECT_EQ(value(headers, "Access-Control-Allow-Credentials"), "true");
  EXPECT_EQ(value(headers, "Vary"), "Origin");
}

TEST(Cors, RefusesWhatIsNotListed) {
  const Cors cors({.origins = {"http://a"}, .methods = {"GET"}, .headers = {"X-A"}});
  EXPECT_EQ(value(permitted(cors, {{"Origin", "http://b"}}), "Access-Control-Allow-Origin"),
            "none");
  EXPECT_EQ(value(permitted(cors, {{"Origin", "http://b"}}), "Vary"), "Origin");
  const auto preflight = [&](const char* origin, const char* method, const char* headers) {
    const auto answer =
        cors.preflight(ask("OPTIONS", {{"Origin", origin},
                                       {"Access-Control-Request-Method", method},
                                       {"Access-Control-Request-Headers", headers}}));
    return std::to_string(answer->status) + " " + answer->body;
  };
  EXPECT_EQ(preflight("http://a", "GET", "x-a, content-type"), "200 OK");
  EXPECT_EQ(preflight("http://b", "GET", "x-a"), "400 Disallowed CORS origin");
  EXPECT_EQ(preflight("http://a", "POST", "x-b"), "400 Disallowed CORS method, headers");
}

}  // namespace
}  // namespace godwit
