#include "server/edge.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "server/trace_context.h"

namespace godwit {
namespace {

constexpr std::size_t kMaxIdSize = 256;
constexpr std::size_t kMaxShownPath = 200;
/// What nginx logs for a client that left before its answer began.
constexpr int kClientLeft = 499;

/// Safe for a log line: printable ASCII, of bounded length.
std::string shown(std::string text) {
  text.resize(std::min(text.size(), kMaxShownPath));
  std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

/// A request's trace, and the span that this server is in it.
struct Span {
  TraceContext context;
  std::string id;
};

/// The line about one request.
struct AccessLine {
  std::string method;
  std::string path;
  std::string request_id;
  std::optional<Span> span;
  Clock::Duration arrived{};

  void write(int status, bool client_left, Clock::Duration now) const {
    const double ms = std::chrono::duration<double, std::milli>(now - arrived).count();
    char number[32];
    std::snprintf(number, sizeof(number), "%.1f", ms);
    std::string message = method + " " + path + " " + std::to_string(status) + " " + number +
                          " ms, request " + request_id;
    Json members = JsonObject{{"request_id", request_id},
                              {"method", method},
                              {"path", path},
                              {"status", status},
                              {"ms", ms}};
    if (span) {
      message += ", trace " + span->context.trace_id;
      members.set("trace_id", span->context.trace_id);
      members.set("span_id", span->id);
      members.set("parent_span_id", span->context.parent_id);
      members.set("trace_flags", span->context.flags);
      if (!span->context.state.empty()) {
        members.set("tracestate", span->context.state);
      }
    }
    if (client_left) {
      message += ", the client left";
      members.set("client_left", true);
    }
    log::event(log::Level::kInfo, message, members);
  }
};

/// An exchange that adds headers to what passes through, and notes how it ends.
class EdgeExchange final : public Exchange, public std::enable_shared_from_this<EdgeExchange> {
 public:
  EdgeExchange(std::shared_ptr<Exchange> inner, std::vector<HttpHeader> headers,
               std::optional<AccessLine> line, const Clock& clock)
      : inner_(std::move(inner)),
        headers_(std::move(headers)),
        line_(std::move(line)),
        clock_(clock) {}
  ~EdgeExchange() override { log(500); }  // Let go unanswered, which the inner exchange answers so.
  EdgeExchange(const EdgeExchange&) = delete;
  EdgeExchange& operator=(const EdgeExchange&) = delete;

  void watch() {
    inner_->on_disconnect([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->leave();
      }
    });
  }

  [[nodiscard]] HttpRequest& request() override { return inner_->request(); }
  void respond(HttpResponse response) override {
    add_headers(response);
    log(response.status);
    inner_->respond(std::move(response));
  }
  void start_stream(HttpResponse head) override {
    add_headers(head);
    status_ = head.status;
    inner_->start_stream(std::move(head));
  }
  void write(std::string data) override { inner_->write(std::move(data)); }
  void finish() override {
    log(status_);
    inner_->finish();
  }
  void on_disconnect(std::function<void()> callback) override {
    if (left_) {
      callback();
    } else {
      disconnected_ = std::move(callback);
    }
  }
  void on_interrupt(std::function<void()> callback) override {
    inner_->on_interrupt(std::move(callback));
  }
  void post(std::function<void()> function) override { inner_->post(std::move(function)); }

 private:
  void add_headers(HttpResponse& response) {
    response.headers.insert(response.headers.end(), headers_.begin(), headers_.end());
  }
  void log(int status) {
    if (const auto line = std::exchange(line_, std::nullopt)) {
      line->write(status, left_, clock_.now());
    }
  }
  void leave() {
    left_ = true;
    log(status_ == 0 ? kClientLeft : status_);
    if (const auto callback = std::exchange(disconnected_, nullptr)) {
      callback();
    }
  }

  std::shared_ptr<Exchange> inner_;
  std::vector<HttpHeader> headers_;  // added to the response
  std::optional<AccessLine> line_;   // until it is written
  const Clock& clock_;
  std::function<void()> disconnected_;
  int status_ = 0;  // of a stream that has begun
  bool left_ = false;
};

}  // namespace

Edge::Edge(EdgeOptions options, IdSource& ids, const Clock& clock, HttpHandler inner)
    : options_(std::move(options)),
      cors_(options_.cors),
      ids_(ids),
      clock_(clock),
      inner_(std::move(inner)) {
  while (options_.root_path.ends_with('/')) {
    options_.root_path.pop_back();
  }
}

void Edge::strip_root(std::string& path) const {
  const std::string& root = options_.root_path;
  if (!root.empty() && path.starts_with(root)) {
    if (path.size() == root.size()) {
      path = "/";
    } else if (path[root.size()] == '/') {
      path.erase(0, root.size());
    }
  }
}

void Edge::handle(std::shared_ptr<Exchange> exchange) const {
  HttpRequest& request = exchange->request();
  const std::string* given = request.header("x-request-id");
  const bool usable = given != nullptr && !given->empty() && given->size() <= kMaxIdSize;
  request.id = usable ? *given : ids_.next();
  std::vector<HttpHeader> headers;
  cors_.permit(request, headers);
  if (options_.request_id_headers) {
    headers.push_back({"X-Request-Id", request.id});
  }
  std::optional<Span> span;
  if (auto context = read_trace_context(request)) {
    constexpr std::size_t kSpanSize = 16;
    span = Span{.context = std::move(*context), .id = ids_.next().substr(0, kSpanSize)};
    // Names our span to the caller, as the draft of Trace Context, level 2, has it.
    headers.push_back({"traceresponse", "00-" + span->context.trace_id + "-" + span->id + "-" +
                                            span->context.flags});
  }
  std::optional<AccessLine> line;
  const auto& quiet = options_.quiet_paths;
  if (options_.access_log && std::find(quiet.begin(), quiet.end(), request.path) == quiet.end()) {
    line = AccessLine{.method = shown(request.method),
                      .path = shown(request.path),
                      .request_id = shown(request.id),
                      .span = std::move(span),
                      .arrived = clock_.now()};
  }
  strip_root(request.path);
  auto outer = std::make_shared<EdgeExchange>(std::move(exchange), std::move(headers),
                                              std::move(line), clock_);
  outer->watch();
  if (auto answer = cors_.preflight(request)) {
    outer->respond(std::move(*answer));
    return;
  }
  inner_(std::move(outer));
}

}  // namespace godwit
