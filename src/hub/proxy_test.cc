#include "hub/proxy.h"

#include <map>

#include <gtest/gtest.h>

#include "hub/http_exchange.h"
#include "hub/testing/scripted_server.h"

namespace godwit {
namespace {

using testing::answer;
using testing::ScriptedRequest;
using testing::ScriptedServer;

Result<HttpProxies> proxies_of(const std::map<std::string, std::string>& variables) {
  return read_proxies([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string chosen(const HttpProxies& proxies, std::string_view url) {
  const HttpProxy* proxy = proxies.find(parse_url(url).value());
  return proxy == nullptr ? "" : proxy->url.authority();
}

TEST(ProxyTest, TheVariablesOfEachScheme) {
  const auto proxies = proxies_of({{"HTTPS_PROXY", "http://secure:3128"},
                                   {"https_proxy", "lower:3129"},
                                   {"ALL_PROXY", "http://all"}});
  ASSERT_TRUE(proxies.ok()) << proxies.status().message();
  EXPECT_EQ(chosen(*proxies, "https://huggingface.co/x"), "lower:3129");
  EXPECT_EQ(chosen(*proxies, "http://huggingface.co/x"), "all");
  EXPECT_EQ(chosen(*proxies_of({}), "https://huggingface.co/x"), "");
}

TEST(ProxyTest, HostsThatNeedNone) {
  const auto direct = [](const std::string& list, std::string_view url) {
    const auto proxies = proxies_of({{"HTTPS_PROXY", "http://p:1"}, {"NO_PROXY", list}});
    return chosen(*proxies, url).empty();
  };
  EXPECT_TRUE(direct("*", "https://a.b/"));
  EXPECT_TRUE(direct("x, A.B", "https://a.b/"));
  EXPECT_TRUE(direct(".b", "https://a.b/"));
  EXPECT_TRUE(direct("b", "https://a.b/"));
  EXPECT_TRUE(direct("a.b:8443", "https://a.b:8443/"));
  EXPECT_TRUE(direct("::1", "https://[::1]/"));
  EXPECT_FALSE(direct("a.b:8443", "https://a.b/"));
  EXPECT_FALSE(direct("", "https://a.b/"));
  EXPECT_FALSE(direct("b", "https://ab/"));
}

TEST(ProxyTest, ErrorsNameTheVariableAndKeepThePassword) {
  for (const char* text : {"socks5://u:secret@p", "http://u:secret@p:x", "http://u:secret@"}) {
    const auto proxies = proxies_of({{"HTTPS_PROXY", text}});
    ASSERT_FALSE(proxies.ok()) << text;
    EXPECT_NE(proxies.status().message().find("HTTPS_PROXY"), std::string::npos);
    EXPECT_EQ(proxies.status().message().find("secret"), std::string::npos);
  }
}

class Body final : public ResponseSink {
 public:
  Status begin(const HttpHead&) override { return {}; }
  Status write(std::string_view bytes) override {
    text += bytes;
    return {};
  }
  std::string text;
};

TEST(ProxyTest, HttpIsAskedOfTheProxyWithTheWholeUrl) {
  const ScriptedServer server([](const ScriptedRequest&) { return answer(200, "", "hello"); });
  std::string address = server.url();
  address.insert(std::string_view("http://").size(), "user:p%40ss@");
  const HttpProxy proxy = parse_proxy(address).value();
  Body body;
  const Status status = http_exchange({.method = "GET",
                                       .url = parse_url("http://hub.invalid/a?b").value(),
                                       .headers = {},
                                       .proxy = &proxy},
                                      {}, body);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(body.text, "hello");
  const ScriptedRequest request = server.requests().at(0);
  EXPECT_EQ(request.target, "http://hub.invalid/a?b");
  EXPECT_EQ(request.header("Host"), "hub.invalid");
  EXPECT_EQ(request.header("Proxy-Authorization"), "Basic dXNlcjpwQHNz");  // user:p@ss
}

TEST(ProxyTest, HttpsIsAskedThroughATunnelThatTheProxyMayRefuse) {
  const ScriptedServer server([](const ScriptedRequest&) { return answer(407, "", ""); });
  const HttpProxy proxy = parse_proxy(server.url()).value();
  Body body;
  const Status status = http_exchange({.method = "GET",
                                       .url = parse_url("https://hub.invalid/a").value(),
                                       .headers = {{"Authorization", "Bearer secret"}},
                                       .proxy = &proxy},
                                      {}, body);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("407"), std::string::npos) << status.message();
  const ScriptedRequest request = server.requests().at(0);
  EXPECT_EQ(request.method, "CONNECT");
  EXPECT_EQ(request.target, "hub.invalid:443");
  EXPECT_EQ(request.header("Authorization"), std::nullopt);
}

}  // namespace
}  // namespace godwit
