#include "bench/http_loop.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace godwit {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;

/// One request on a connection of its own; keeps itself alive until its answer has ended.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(asio::io_context& context, const HttpTarget& target, HttpCall call, HttpAnswerSink sink)
      : stream_(context), timeout_(call.timeout), sink_(std::move(sink)) {
    request_.method_string(call.method);
    request_.target(target.prefix + call.path);
    request_.version(11);
    const bool v6 = target.host.find(':') != std::string::npos;
    request_.set(http::field::host,
                 (v6 ? "[" + target.host + "]" : target.host) + ":" + target.port);
    request_.set(http::field::user_agent, "godwit-bench");
    request_.set(http::field::connection, "close");
    if (!call.body.empty()) {
      request_.set(http::field::content_type, "application/json");
    }
    for (const auto& [name, value] : call.headers) {
      request_.set(name, value);
    }
    request_.body() = std::move(call.body);
    request_.prepare_payload();
    // The body is taken away piece by piece. (Boost 1.74 takes "no limit" for a limit of zero.)
    parser_.body_limit(std::numeric_limits<std::uint64_t>::max());
  }

  void connect(const asio::ip::tcp::resolver::results_type& addresses) {
    stream_.expires_after(timeout_);
    stream_.async_connect(
        addresses, [self = shared_from_this()](error_code error, const asio::ip::tcp::endpoint&) {
          self->connected(error);
        });
  }

 private:
  void connected(error_code error) {
    if (error) {
      end(error);
      return;
    }
    stream_.socket().set_option(asio::ip::tcp::no_delay(true), error);
    stream_.expires_after(timeout_);
    http::async_write(stream_, request_,
                      [self = shared_from_this()](error_code failed, std::size_t) {
                        failed ? self->end(failed) : self->read();
                      });
  }

  void read() {
    stream_.expires_after(timeout_);
    http::async_read_some(
        stream_, buffer_, parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->received(error); });
  }

  void received(error_code error) {
    std::string& body = parser_.get().body();
    if (!body.empty()) {
      sink_.body(body);
      body.clear();
    }
    if (error == http::error::end_of_stream && parser_.is_done()) {
      error = {};
    }
    if (error || parser_.is_done()) {
      end(error);
      return;
    }
    read();
  }

  void end(error_code error) {
    const Status status =
        error ? unavailable("The connection to the server failed: " + error.message()) : Status();
    sink_.ended(status, error ? 0 : static_cast<int>(parser_.get().result_int()));
    stream_.close();
  }

  beast::tcp_stream stream_;
  std::chrono::seconds timeout_;
  HttpAnswerSink sink_;
  http::request<http::string_body> request_;
  beast::flat_buffer buffer_;
  http::response_parser<http::string_body> parser_;
};

}  // namespace

struct HttpLoop::Impl {
  explicit Impl(HttpTarget where) : target(std::move(where)) {}

  HttpTarget target;
  asio::io_context context{1};
  std::optional<asio::ip::tcp::resolver::results_type> addresses;
};

HttpLoop::HttpLoop(HttpTarget target) : impl_(std::make_unique<Impl>(std::move(target))) {}
HttpLoop::~HttpLoop() = default;

void HttpLoop::start(HttpCall call, HttpAnswerSink sink) {
  if (!impl_->addresses) {
    // Once, before anything is measured.
    asio::ip::tcp::resolver resolver(impl_->context);
    error_code error;
    const auto found = resolver.resolve(impl_->target.host, impl_->target.port, error);
    if (error) {
      asio::post(impl_->context, [sink = std::move(sink), error, host = impl_->target.host] {
        sink.ended(unavailable("The host " + host + " is not known: " + error.message()), 0);
      });
      return;
    }
    impl_->addresses = found;
  }
  std::make_shared<Exchange>(impl_->context, impl_->target, std::move(call), std::move(sink))
      ->connect(*impl_->addresses);
}

void HttpLoop::after(std::chrono::nanoseconds delay, std::function<void()> action) {
  const auto timer = std::make_shared<asio::steady_timer>(impl_->context, delay);
  timer->async_wait([timer, action = std::move(action)](error_code) { action(); });
}

void HttpLoop::run() {
  impl_->context.restart();
  impl_->context.run();
}

Result<HttpTarget> parse_base_url(std::string_view url) {
  const std::string given(url);
  const std::string remedy = "give http://HOST:PORT";
  constexpr std::string_view kScheme = "http://";
  if (url.starts_with("https://")) {
    return invalid_argument("--base-url is " + given + ", and bench speaks no TLS",
                            "give the server's http address");
  }
  if (!url.starts_with(kScheme)) {
    return invalid_argument("--base-url is " + given, remedy);
  }
  url.remove_prefix(kScheme.size());
  HttpTarget target;
  const std::size_t slash = std::min(url.find('/'), url.size());
  target.prefix = url.substr(slash);
  while (target.prefix.ends_with('/')) {
    target.prefix.pop_back();
  }
  url = url.substr(0, slash);
  std::size_t colon = url.rfind(':');
  if (url.starts_with('[')) {
    const std::size_t bracket = url.find(']');
    if (bracket == std::string_view::npos) {
      return invalid_argument("--base-url is " + given, remedy);
    }
    target.host = url.substr(1, bracket - 1);
    colon = bracket + 1 < url.size() ? bracket + 1 : std::string_view::npos;
  } else {
    target.host = url.substr(0, colon);
  }
  target.port = colon == std::string_view::npos ? "80" : url.substr(colon + 1);
  const bool decimal = !target.port.empty() && target.port.size() <= 5 &&
                       target.port.find_first_not_of("0123456789") == std::string::npos;
  const bool printable = given.find_first_of(" \t\r\n") == std::string::npos;
  if (target.host.empty() || !decimal || !printable) {
    return invalid_argument("--base-url is " + given, remedy);
  }
  return target;
}

Result<std::string> call_server(const HttpTarget& target, HttpCall call) {
  HttpLoop loop(target);
  const std::string what = call.method + " " + call.path;
  std::string answer;
  Status failure;
  int code = 0;
  loop.start(std::move(call), {.body =
                                   [&answer](std::string_view piece) {
                                     if (answer.size() + piece.size() <= kMaxAnswerBytes) {
                                       answer += piece;
                                     }
                                   },
                               .ended =
                                   [&failure, &code](const Status& error, int status) {
                                     failure = error;
                                     code = status;
                                   }});
  loop.run();
  TRY(failure);
  if (code / 100 != 2) {
    constexpr std::size_t kShown = 500;
    return invalid_argument(what + " was answered with status " + std::to_string(code) + ": " +
                            answer.substr(0, kShown));
  }
  return answer;
}

}  // namespace godwit
