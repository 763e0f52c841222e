#pragma once
// TLS for the HTTP server. Only tls.cc includes OpenSSL and Asio's binding of it, which are slow to
// compile.

#include <memory>

#include "base/status.h"
#include "server/tls_options.h"
#include "server/transport.h"

namespace godwit {

/// A server's certificate and key, read once.
///
/// Threading: immutable; make_transport() may be called from any thread.
class TlsContext {
 public:
  /// Errors: kInvalidArgument naming the flag whose file cannot be read or does not fit.
  static Result<std::shared_ptr<const TlsContext>> create(const TlsOptions& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  /// A server's side of TLS 1.2 or 1.3. The context must outlive the transport.
  [[nodiscard]] std::unique_ptr<Transport> make_transport(StreamSocket socket) const;

 private:
  struct Impl;
  explicit TlsContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace godwit
