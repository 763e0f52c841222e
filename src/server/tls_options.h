#pragma once
// What the HTTP server needs for TLS, as plain values.

#include <string>

namespace godwit {

/// Whether clients show a certificate; the numbers are those of Python's ssl, as vLLM takes them.
enum class ClientCertificates { kNone = 0, kOptional = 1, kRequired = 2 };

struct TlsOptions {
  std::string certificate_file =
      {};                     ///< PEM, with intermediate certificates behind it; empty: no TLS.
  std::string key_file = {};  ///< PEM, not encrypted; empty: it is in certificate_file.
  std::string client_ca_file = {};  ///< PEM of the authorities that sign clients' certificates.
  ClientCertificates clients = ClientCertificates::kNone;
  std::string ciphers = {};  ///< For TLS 1.2, in OpenSSL's words; empty: OpenSSL's default.
};

}  // namespace godwit
