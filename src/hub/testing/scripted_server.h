#pragma once
// An HTTP server on loopback that says, byte for byte, what a test wants it to say.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

struct ssl_ctx_st;

namespace godwit::testing {

struct ScriptedRequest {
  std::string method;
  std::string target;
  std::string head;  ///< All lines, as they came.
  /// The value of a header; nothing when there is none. `name` as the client spells it.
  [[nodiscard]] std::optional<std::string> header(std::string_view name) const;
};

/// Bytes of an answer, after which the connection ends.
using Script = std::function<std::string(const ScriptedRequest&)>;

/// A whole answer with Content-Length. `headers` are lines that end with "\r\n".
std::string answer(int status, std::string_view headers, std::string_view body);

/// A certificate for `host` (an IP address or a name) that signs itself, as PEM.
struct Certificate {
  std::string certificate;
  std::string key;
};
Certificate make_certificate(const std::string& host);

/// Serves one connection after another until it is destroyed.
class ScriptedServer {
 public:
  /// With a certificate it speaks TLS.
  explicit ScriptedServer(Script script, const Certificate* certificate = nullptr);
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer();

  [[nodiscard]] std::string url(std::string_view host = "127.0.0.1") const;
  /// What was asked so far, complete once the client has its answer.
  [[nodiscard]] std::vector<ScriptedRequest> requests() const;

 private:
  struct FreeContext {
    void operator()(ssl_ctx_st* context) const;
  };
  void serve();
  void serve_plain(int fd);
  void serve_tls(int fd);
  std::string respond(const std::string& head);

  Script script_;
  std::unique_ptr<ssl_ctx_st, FreeContext> tls_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<ScriptedRequest> requests_;
  std::thread thread_;
};

}  // namespace godwit::testing
