#include "hub/testing/scripted_server.h"

#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/check.h"

namespace godwit::testing {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";

std::string to_pem(const std::function<int(BIO*)>& write) {
  BIO* memory = BIO_new(BIO_s_mem());
  CHECK(write(memory) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string pem(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return pem;
}

}  // namespace

std::optional<std::string> ScriptedRequest::header(std::string_view name) const {
  const std::string line = "\r\n" + std::string(name) + ": ";
  const std::size_t at = head.find(line);
  if (at == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t begin = at + line.size();
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

std::string answer(int status, std::string_view headers, std::string_view body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Scripted\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(headers) + "\r\n" + std::string(body);
}

Certificate make_certificate(const std::string& host) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* x509 = X509_new();
  CHECK(key != nullptr && x509 != nullptr);
  X509_set_version(x509, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
  X509_set_pubkey(x509, key);
  X509_NAME* name = X509_get_subject_name(x509);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("scripted"), -1, -1, 0);
  X509_set_issuer_name(x509, name);
  const bool address = host.find_first_not_of("0123456789.") == std::string::npos;
  const std::string names = (address ? "IP:" : "DNS:") + host;
  for (const auto& [type, value] : {std::pair(NID_subject_alt_name, names),
                                    std::pair(NID_basic_constraints, std::string("CA:TRUE"))}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, type, value.c_str());
    CHECK(extension != nullptr);
    X509_add_ext(x509, extension, -1);
    X509_EXTENSION_free(extension);
  }
  CHECK(X509_sign(x509, key, EVP_sha256()) > 0);
  Certificate certificate{
      .certificate = to_pem([&](BIO* out) { return PEM_write_bio_X509(out, x509); }),
      .key = to_pem([&](BIO* out) {
        return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
      })};
  X509_free(x509);
  EVP_PKEY_free(key);
  return certificate;
}

void ScriptedServer::FreeContext::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}

ScriptedServer::ScriptedServer(Script script, const Certificate* certificate)
    : script_(std::move(script)) {
  // OpenSSL writes to a client that left without MSG_NOSIGNAL.
  std::signal(SIGPIPE, SIG_IGN);
  if (certificate != nullptr) {
    tls_.reset(SSL_CTX_new(TLS_server_method()));
    BIO* pem = BIO_new_mem_buf(certificate->certificate.data(), -1);
    X509* x509 = PEM_read_bio_X509(pem, nullptr, nullptr, nullptr);
    BIO* key_pem = BIO_new_mem_buf(certificate->key.data(), -1);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(key_pem, nullptr, nullptr, nullptr);
    CHECK(SSL_CTX_use_certificate(tls_.get(), x509) == 1);
    CHECK(SSL_CTX_use_PrivateKey(tls_.get(), key) == 1);
    X509_free(x509);
    EVP_PKEY_free(key);
    BIO_free(pem);
    BIO_free(key_pem);
  }
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CHECK(listen(listener_, 16) == 0);
  CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

ScriptedServer::~ScriptedServer() {
  shutdown(listener_, SHUT_RDWR);  // Ends accept().
  thread_.join();
  close(listener_);
}

std::string ScriptedServer::url(std::string_view host) const {
  return (tls_ != nullptr ? "https://" : "http://") + std::string(host) + ":" +
         std::to_string(port_);
}

std::vector<ScriptedRequest> ScriptedServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void ScriptedServer::serve() {
  while (true) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      return;
    }
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (tls_ != nullptr) {
      serve_tls(fd);
    } else {
      serve_plain(fd);
    }
    close(fd);
  }
}

void ScriptedServer::serve_plain(int fd) {
  std::string head;
  std::array<char, 4096> chunk{};
  while (head.find(kEndOfHead) == std::string::npos) {
    const ssize_t got = recv(fd, chunk.data(), chunk.size(), 0);
    if (got <= 0) {
      return;
    }
    head.append(chunk.data(), static_cast<std::size_t>(got));
  }
  const std::string bytes = respond(head);
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t sent = send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) {
      return;
    }
    at += static_cast<std::size_t>(sent);
  }
}

void ScriptedServer::serve_tls(int fd) {
  SSL* ssl = SSL_new(tls_.get());
  SSL_set_fd(ssl, fd);
  if (SSL_accept(ssl) == 1) {
    std::string head;
    std::array<char, 4096> chunk{};
    int got = 1;
    while (got > 0 && head.find(kEndOfHead) == std::string::npos) {
      got = SSL_read(ssl, chunk.data(), static_cast<int>(chunk.size()));
      head.append(chunk.data(), static_cast<std::size_t>(got > 0 ? got : 0));
    }
    if (got > 0) {
      const std::string bytes = respond(head);
      SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size()));
      SSL_shutdown(ssl);
    }
  }
  SSL_free(ssl);
}

std::string ScriptedServer::respond(const std::string& head) {
  ScriptedRequest request;
  const std::size_t space = head.find(' ');
  request.method = head.substr(0, space);
  request.target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
  request.head = head;
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  return script_(request);
}

}  // namespace godwit::testing
