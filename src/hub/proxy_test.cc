#include "hub/proxy.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <netinet/in.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/check.h"
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

/// A proxy on loopback that opens one tunnel, to a port of this machine whatever is asked.
class TunnelProxy {
 public:
  explicit TunnelProxy(std::uint16_t target) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_, raw, size) == 0 && ::listen(listener_, 1) == 0);
    CHECK(::getsockname(listener_, raw, &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, target] { relay(target); });
  }
  TunnelProxy(const TunnelProxy&) = delete;
  TunnelProxy& operator=(const TunnelProxy&) = delete;
  ~TunnelProxy() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static bool pass(int from, int to) {
    std::array<char, 4096> bytes = {};
    const ssize_t count = ::recv(from, bytes.data(), bytes.size(), 0);
    return count > 0 &&
           ::send(to, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) == count;
  }
  void relay(std::uint16_t target) const {
    const int client = ::accept(listener_, nullptr, nullptr);
    std::string head;
    for (char c = 0; !head.ends_with("\r\n\r\n") && ::recv(client, &c, 1, 0) == 1;) {
      head += c;
    }
    const int server = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(target);
    constexpr std::string_view kOpen = "HTTP/1.1 200 Connection established\r\n\r\n";
    bool open =
        ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
        ::send(client, kOpen.data(), kOpen.size(), MSG_NOSIGNAL) > 0;
    while (open) {
      fd_set ready;
      FD_ZERO(&ready);
      FD_SET(client, &ready);
      FD_SET(server, &ready);
      open = ::select(std::max(client, server) + 1, &ready, nullptr, nullptr, nullptr) > 0 &&
             (!FD_ISSET(client, &ready) || pass(client, server)) &&
             (!FD_ISSET(server, &ready) || pass(server, client));
    }
    ::close(client);
    ::close(server);
  }

  int listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST(ProxyTest, TlsGoesThroughTheTunnelToTheHostItself) {
  const testing::Certificate certificate = testing::make_certificate("hub.invalid");
  const auto path = std::filesystem::temp_directory_path() /
                    ("godwit-proxy-" + std::to_string(::getpid()) + ".pem");
  std::ofstream(path) << certificate.certificate;
  ::setenv("SSL_CERT_FILE", path.c_str(), 1);
  const ScriptedServer server([](const ScriptedRequest&) { return answer(200, "", "hello"); },
                              &certificate);
  const TunnelProxy tunnel(parse_url(server.url()).value().port);
  const HttpProxy proxy = parse_proxy(tunnel.url()).value();
  Body body;
  const Status status = http_exchange({.method = "GET",
                                       .url = parse_url("https://hub.invalid/a").value(),
                                       .headers = {},
                                       .proxy = &proxy},
                                      {}, body);
  ::unsetenv("SSL_CERT_FILE");
  std::filesystem::remove(path);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(body.text, "hello");
  EXPECT_EQ(server.requests().at(0).target, "/a");
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
