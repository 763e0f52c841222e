#include "server/tls.h"

#include <cstdio>
#include <filesystem>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <gtest/gtest.h>

#include "server/http_server.h"
#include "server/raw_client_test_support.h"

namespace godwit {
namespace {

using std::chrono::milliseconds;

/// A folder with a certificate that signs itself, and its key.
class Identity {
 public:
  explicit Identity(const std::string& name)
      : folder_(std::filesystem::path(testing::TempDir()) / name) {
    std::filesystem::create_directories(folder_);
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_sign(certificate, key, EVP_sha256());
    std::FILE* out = std::fopen(certificate_file().c_str(), "w");
    PEM_write_X509(out, certificate);
    std::fclose(out);
    out = std::fopen(key_file().c_str(), "w");
    PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(out);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  ~Identity() { std::filesystem::remove_all(folder_); }
  Identity(const Identity&) = delete;
  Identity& operator=(const Identity&) = delete;

  [[nodiscard]] std::string certificate_file() const { return folder_ / "certificate.pem"; }
  [[nodiscard]] std::string key_file() const { return folder_ / "key.pem"; }

 private:
  std::filesystem::path folder_;
};

std::unique_ptr<HttpServer> serve(const Identity& identity, milliseconds deadline) {
  HttpServerOptions options{.port = 0, .read_timeout = deadline};
  options.tls.certificate_file = identity.certificate_file();
  options.tls.key_file = identity.key_file();
  auto server = HttpServer::create(options, [](const std::shared_ptr<Exchange>& exchange) {
                  exchange->respond({});
                }).value();
  server->start();
  return server;
}

TEST(Tls, TellsAClientThatSpeaksPlainHttp) {
  const Identity identity("plain");
  const auto server = serve(identity, milliseconds(20'000));
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = client.read_to_end();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_TRUE(answer.ends_with("use https://\n")) << answer;
}

TEST(Tls, GivesUpOnAClientThatStallsInTheHandshake) {
  const Identity identity("stall");
  const auto server = serve(identity, milliseconds(50));
  RawClient client(server->port());
  client.send("\x16\x03\x01");
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(Tls, NamesTheFlagOfAFileThatDoesNotFit) {
  const Identity identity("one");
  const Identity other("other");
  const auto error = [](const TlsOptions& options) {
    const auto context = TlsContext::create(options);
    return context.ok() ? std::string("none") : context.status().message();
  };
  const TlsOptions good{.certificate_file = identity.certificate_file(),
                        .key_file = identity.key_file()};
  EXPECT_EQ(error(good), "none");
  TlsOptions wrong = good;
  wrong.certificate_file = "/nowhere";
  EXPECT_TRUE(error(wrong).starts_with("--ssl-certfile /nowhere: ")) << error(wrong);
  wrong = good;
  wrong.key_file = other.key_file();
  EXPECT_TRUE(error(wrong).starts_with("--ssl-keyfile ")) << error(wrong);
  wrong = good;
  wrong.client_ca_file = "/nowhere";
  EXPECT_TRUE(error(wrong).starts_with("--ssl-ca-certs /nowhere: ")) << error(wrong);
  wrong = good;
  wrong.clients = ClientCertificates::kRequired;
  EXPECT_TRUE(error(wrong).starts_with("--ssl-cert-reqs ")) << error(wrong);
  wrong = good;
  wrong.ciphers = "no such cipher";
  EXPECT_TRUE(error(wrong).starts_with("--ssl-ciphers ")) << error(wrong);
}

}  // namespace
}  // namespace godwit
