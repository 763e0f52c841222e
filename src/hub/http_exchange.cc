#include "hub/http_exchange.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <charconv>
#include <exception>
#include <limits>

#include "hub/hub_name.h"

namespace godwit {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using boost::system::error_code;

constexpr std::uint32_t kLargestHead = 65536;
constexpr std::size_t kChunk = std::size_t{256} << 10;

/// Runs one asynchronous operation to its end; asynchronous, because only those obey timeouts.
template <class Start>
error_code run(asio::io_context& io, const Start& start) {
  error_code outcome;
  start([&outcome](error_code error, const auto&...) { outcome = error; });
  io.restart();
  io.run();
  return outcome;
}

Status broken(const Url& url, std::string_view what, const error_code& error) {
  return unavailable(url.shown() + ": " + std::string(what) + ": " + error.message(),
                     "check the network and HF_ENDPOINT");
}

HttpHead read_head(const http::response_parser<http::buffer_body>& parser) {
  HttpHead head;
  head.status = static_cast<int>(parser.get().result_int());
  for (const auto& field : parser.get()) {
    head.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return head;
}

/// An error while a response is read: lost connections may come back, a wrong response does not.
Status read_failed(const Url& url, const error_code& error) {
  const bool lost = error == http::error::end_of_stream || error == http::error::partial_message;
  if (error.category() == make_error_code(http::error::bad_version).category() && !lost) {
    return invalid_argument(
        url.shown() + " answers with something that is no HTTP: " + error.message(),
        "check HF_ENDPOINT");
  }
  return broken(url, "the connection ended before the answer did", error);
}

template <class Stream>
Status exchange(asio::io_context& io, Stream& stream, const FetchRequest& request,
                const HttpTimeouts& timeouts, ResponseSink& sink) {
  auto& socket = beast::get_lowest_layer(stream);
  const bool is_head = request.method == "HEAD";
  http::request<http::empty_body> message(is_head ? http::verb::head : http::verb::get,
                                          request.url.target, 11);
  if (request.proxy != nullptr && !request.url.tls) {
    message.target("http://" + request.url.authority() + request.url.target);
    if (!request.proxy->authorization.empty()) {
      message.set(http::field::proxy_authorization, request.proxy->authorization);
    }
  }
  message.set(http::field::host, request.url.authority());
  message.set(http::field::user_agent, "godwit");
  message.set(http::field::accept_encoding, "identity");
  message.set(http::field::connection, "close");
  for (const auto& [name, value] : request.headers) {
    message.set(name, value);
  }
  socket.expires_after(timeouts.silence);
  if (const error_code error =
          run(io, [&](auto done) { http::async_write(stream, message, done); })) {
    return broken(request.url, "cannot send the request", error);
  }

  beast::flat_buffer buffer(kChunk);
  http::response_parser<http::buffer_body> parser;
  parser.header_limit(kLargestHead);
  // Not boost::none, which Boost 1.74 takes for a limit of nothing. Sinks bound what they take.
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  parser.skip(is_head);
  socket.expires_after(timeouts.silence);
  if (const error_code error =
          run(io, [&](auto done) { http::async_read_header(stream, buffer, parser, done); })) {
    return read_failed(request.url, error);
  }
  const HttpHead head = read_head(parser);
  if (const std::string* coding = head.find("Content-Encoding");
      coding != nullptr && *coding != "identity") {
    return invalid_argument(request.url.shown() + " answers with the coding " + printable(*coding) +
                                ", which was not asked for",
                            "check HF_ENDPOINT and what is between it and here");
  }
  TRY(sink.begin(head));
  std::vector<char> chunk(is_head ? 0 : kChunk);
  while (!parser.is_done()) {
    http::buffer_body::value_type& body = parser.get().body();
    body.data = chunk.data();
    body.size = chunk.size();
    socket.expires_after(timeouts.silence);
    error_code error =
        run(io, [&](auto done) { http::async_read_some(stream, buffer, parser, done); });
    if (error == http::error::need_buffer) {
      error = {};
    }
    // What came before the connection broke counts: a download goes on behind it.
    const std::size_t received = chunk.size() - body.size;
    if (received > 0) {
      TRY(sink.write({chunk.data(), received}));
    }
    if (error && !parser.is_done()) {
      return read_failed(request.url, error);
    }
  }
  return {};
}

const Url& first_hop(const FetchRequest& request) {
  return request.proxy != nullptr ? request.proxy->url : request.url;
}

Status connect(asio::io_context& io, beast::tcp_stream& stream, const Url& url,
               const HttpTimeouts& timeouts) {
  asio::ip::tcp::resolver resolver(io);
  asio::ip::tcp::resolver::results_type addresses;
  const error_code unknown = run(io, [&](auto done) {
    resolver.async_resolve(url.host, std::to_string(url.port),
                           [&addresses, done](error_code error, auto results) {
                             addresses = std::move(results);
                             done(error);
                           });
  });
  if (unknown) {
    return broken(url, "cannot find the host", unknown);
  }
  stream.expires_after(timeouts.connect);
  const error_code refused = run(io, [&](auto done) { stream.async_connect(addresses, done); });
  return refused ? broken(url, "cannot connect", refused) : Status();
}

/// Asks a proxy for a tunnel to the host. Nothing of the tunnel is read ahead: a TLS server is
/// silent until the client speaks.
Status open_tunnel(asio::io_context& io, beast::tcp_stream& stream, const FetchRequest& request,
                   const HttpTimeouts& timeouts) {
  const Url& proxy = request.proxy->url;
  const std::string name = request.url.host.find(':') != std::string::npos
                               ? "[" + request.url.host + "]"
                               : request.url.host;
  const std::string host = name + ":" + std::to_string(request.url.port);
  http::request<http::empty_body> message(http::verb::connect, host, 11);
  message.set(http::field::host, host);
  message.set(http::field::user_agent, "godwit");
  if (!request.proxy->authorization.empty()) {
    message.set(http::field::proxy_authorization, request.proxy->authorization);
  }
  stream.expires_after(timeouts.silence);
  if (const error_code error =
          run(io, [&](auto done) { http::async_write(stream, message, done); })) {
    return broken(proxy, "cannot ask the proxy for a tunnel", error);
  }
  beast::flat_buffer buffer(kLargestHead);
  http::response_parser<http::empty_body> parser;
  parser.header_limit(kLargestHead);
  parser.skip(true);
  if (const error_code error =
          run(io, [&](auto done) { http::async_read_header(stream, buffer, parser, done); })) {
    return read_failed(proxy, error);
  }
  if (const unsigned status = parser.get().result_int(); status != 200) {
    return invalid_argument("the proxy " + proxy.authority() + " answers " +
                                std::to_string(status) + " when asked for a tunnel to " + host,
                            "check HTTPS_PROXY, and NO_PROXY for hosts that need none");
  }
  return {};
}

/// The reason in OpenSSL's words, when the certificate is what is wrong.
Status handshake_failed(SSL* handle, const Url& url, const error_code& error) {
  const long verdict = SSL_get_verify_result(handle);
  if (verdict == X509_V_OK) {
    return broken(url, "cannot agree on TLS", error);
  }
  return invalid_argument("the certificate of " + url.authority() +
                              " is not to be trusted: " + X509_verify_cert_error_string(verdict),
                          "for an authority of your own, name its file in SSL_CERT_FILE");
}

Status exchange_tls(asio::io_context& io, const FetchRequest& request, const HttpTimeouts& timeouts,
                    ResponseSink& sink) {
  ssl::context context(ssl::context::tls_client);
  context.set_default_verify_paths();
  context.set_verify_mode(ssl::verify_peer);
  if (SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION) != 1) {
    return internal_error("OpenSSL cannot speak TLS 1.2");
  }
  beast::ssl_stream<beast::tcp_stream> stream(io, context);
  const std::string& host = request.url.host;
  error_code not_an_address;
  asio::ip::make_address(host, not_an_address);
  // The name that a server with several certificates chooses by; addresses do not belong there.
  if (not_an_address && SSL_set_tlsext_host_name(stream.native_handle(), host.c_str()) != 1) {
    return internal_error("OpenSSL takes no server name \"" + host + "\"");
  }
  stream.set_verify_callback(ssl::host_name_verification(host));
  beast::tcp_stream& socket = beast::get_lowest_layer(stream);
  TRY(connect(io, socket, first_hop(request), timeouts));
  if (request.proxy != nullptr) {
    TRY(open_tunnel(io, socket, request, timeouts));
  }
  socket.expires_after(timeouts.connect);
  if (const error_code error =
          run(io, [&](auto done) { stream.async_handshake(ssl::stream_base::client, done); })) {
    return handshake_failed(stream.native_handle(), request.url, error);
  }
  return exchange(io, stream, request, timeouts, sink);
}

}  // namespace

const std::string* HttpHead::find(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& header) {
    return beast::iequals(beast::string_view(header.first.data(), header.first.size()),
                          beast::string_view(name.data(), name.size()));
  });
  return found == headers.end() ? nullptr : &found->second;
}

std::optional<std::uint64_t> HttpHead::number(std::string_view name) const {
  const std::string* text = find(name);
  std::uint64_t value = 0;
  if (text == nullptr) {
    return std::nullopt;
  }
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

Status http_exchange(const FetchRequest& request, const HttpTimeouts& timeouts,
                     ResponseSink& sink) {
  try {
    asio::io_context io(1);
    if (request.url.tls) {
      return exchange_tls(io, request, timeouts, sink);
    }
    beast::tcp_stream stream(io);
    TRY(connect(io, stream, first_hop(request), timeouts));
    return exchange(io, stream, request, timeouts, sink);
  } catch (const std::exception& error) {
    return internal_error(request.url.shown() + ": " + error.what());
  }
}

}  // namespace godwit
