#include "server/tls.h"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string_view>
#include <utility>

namespace godwit {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using boost::system::error_code;

constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 36\r\n"
    "Connection: close\r\n\r\nThis port speaks HTTPS; use https://\n";

class TlsTransport final : public Transport {
 public:
  TlsTransport(StreamSocket socket, ssl::context& context) : stream_(std::move(socket), context) {}

  void open(Done done) override {
    stream_.async_handshake(
        ssl::stream_base::server, [this, done = std::move(done)](error_code error) {
          if (is_plain_http(error)) {
            // So short that a new socket's buffer always has room.
            error_code ignored;
            stream_.next_layer().write_some(asio::buffer(kPlainHttpAnswer), ignored);
          }
          done(error);
        });
  }
  void read_some(asio::mutable_buffer into, Moved moved) override {
    stream_.async_read_some(into, std::move(moved));
  }
  void write_some(const std::vector<asio::const_buffer>& from, Moved moved) override {
    stream_.async_write_some(from, std::move(moved));
  }
  void end_writing() override {
    // Sends the alert; the peer's own, which ends the operation, may come while we read on.
    stream_.async_shutdown([](error_code) {});
  }
  void wait_for_loss(Done done) override {
    stream_.next_layer().async_wait(StreamSocket::wait_error, std::move(done));
  }
  void close() override {
    error_code ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  static bool is_plain_http(error_code error) {
    return error.category() == asio::error::get_ssl_category() &&
           ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
  }

  ssl::stream<StreamSocket> stream_;
};

Status cannot_use(std::string_view flag, const std::string& file, const error_code& error) {
  return invalid_argument(std::string(flag) + " " + file + ": " + error.message(),
                          "give a readable PEM file");
}

ssl::verify_mode verify_mode(ClientCertificates clients) {
  switch (clients) {
    case ClientCertificates::kNone:
      return ssl::verify_none;
    case ClientCertificates::kOptional:
      return ssl::verify_peer;
    case ClientCertificates::kRequired:
      return ssl::verify_peer | ssl::verify_fail_if_no_peer_cert;
  }
  return ssl::verify_none;
}

}  // namespace

struct TlsContext::Impl {
  ssl::context context{ssl::context::tls_server};
};

TlsContext::TlsContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsContext::~TlsContext() = default;

Result<std::shared_ptr<const TlsContext>> TlsContext::create(const TlsOptions& options) {
  auto impl = std::make_unique<Impl>();
  ssl::context& context = impl->context;
  SSL_CTX* handle = context.native_handle();
  SSL_CTX_set_min_proto_version(handle, TLS1_2_VERSION);
  SSL_CTX_set_options(handle, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // OpenSSL resumes no session of a client with a certificate without one.
  constexpr std::string_view kSessions = "godwit";
  SSL_CTX_set_session_id_context(handle, reinterpret_cast<const unsigned char*>(kSessions.data()),
                                 static_cast<unsigned int>(kSessions.size()));
  error_code error;
  context.use_certificate_chain_file(options.certificate_file, error);
  if (error) {
    return cannot_use("--ssl-certfile", options.certificate_file, error);
  }
  // Without this OpenSSL would ask for the password of an encrypted key on the terminal.
  context.set_password_callback([](std::size_t, ssl::context::password_purpose) { return ""; },
                                error);
  const std::string& key = options.key_file.empty() ? options.certificate_file : options.key_file;
  context.use_private_key_file(key, ssl::context::pem, error);
  if (error || SSL_CTX_check_private_key(handle) != 1) {
    return invalid_argument(
        "--ssl-keyfile " + key + ": " +
            (error ? error.message() : std::string("not the key of the certificate")),
        "give the PEM file of the certificate's key, not encrypted");
  }
  if (!options.client_ca_file.empty()) {
    context.load_verify_file(options.client_ca_file, error);
    if (error) {
      return cannot_use("--ssl-ca-certs", options.client_ca_file, error);
    }
    // Tells clients which of their certificates to show.
    SSL_CTX_set_client_CA_list(handle, SSL_load_client_CA_file(options.client_ca_file.c_str()));
  } else if (options.clients != ClientCertificates::kNone) {
    return invalid_argument("--ssl-cert-reqs asks for clients' certificates without --ssl-ca-certs",
                            "give the file of the authorities that sign them");
  }
  context.set_verify_mode(verify_mode(options.clients), error);
  if (!options.ciphers.empty() && SSL_CTX_set_cipher_list(handle, options.ciphers.c_str()) != 1) {
    return invalid_argument("--ssl-ciphers " + options.ciphers + " names no cipher of OpenSSL's",
                            "see `openssl ciphers`");
  }
  return std::shared_ptr<const TlsContext>(new TlsContext(std::move(impl)));
}

std::unique_ptr<Transport> TlsContext::make_transport(StreamSocket socket) const {
  return std::make_unique<TlsTransport>(std::move(socket), impl_->context);
}

}  // namespace godwit
