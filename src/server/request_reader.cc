#include "server/request_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/string_body.hpp>
#include <limits>
#include <utility>

#include "base/check.h"

namespace godwit {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

std::string text(boost::beast::string_view view) {
  return {view.data(), view.size()};
}

HttpRefusal explain(const error_code& error, const RequestLimits& limits) {
  if (error == http::error::body_limit) {
    return {413, "the body is larger than " + std::to_string(limits.max_body_bytes) + " bytes"};
  }
  return {400, "this is no HTTP request: " + error.message()};
}

}  // namespace

struct RequestReader::State {
  http::request_parser<http::string_body> parser;
  std::size_t head_bytes = 0;  // taken of the head
  ReceivedRequest received;    // All but the body, once the head was read.
};

RequestReader::RequestReader(RequestLimits limits) : limits_(limits) {}
RequestReader::~RequestReader() = default;

std::size_t RequestReader::read(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && !refusal_ && !complete()) {
    if (state_ == nullptr) {
      state_ = std::make_unique<State>();
      // The parser would count a head that comes at once otherwise than one in pieces.
      state_->parser.header_limit(std::numeric_limits<std::uint32_t>::max());
      state_->parser.body_limit(limits_.max_body_bytes);
      // Step by step, so that the size of each part is seen: the parser bounds the head and the
      // body, and neither a chunk's extensions nor the trailer.
      state_->parser.eager(false);
    }
    auto& parser = state_->parser;
    const bool had_head = parser.is_header_done();
    const std::string_view rest = bytes.substr(taken);
    // The parser of Boost 1.74 takes less for impossible when it has seen the last chunk's size;
    // and no chunked body ends with less.
    constexpr std::size_t kLeastOfChunks = std::string_view("0\r\n\r\n").size();
    if (had_head && parser.chunked() && rest.size() < kLeastOfChunks) {
      break;
    }
    error_code error;
    const std::size_t used = parser.put(boost::asio::buffer(rest.data(), rest.size()), error);
    taken += used;
    state_->head_bytes += had_head ? 0 : used;
    if (error && error != http::error::need_more) {
      refusal_ = explain(error, limits_);
    } else if (!had_head &&
               state_->head_bytes + (used == 0 ? rest.size() : 0) > limits_.max_header_bytes) {
      refusal_ = {431,
                  "the head is larger than " + std::to_string(limits_.max_header_bytes) + " bytes"};
    } else if (!had_head && parser.is_header_done()) {
      check_head();
    } else if (had_head && parser.chunked() && parser.is_done() &&
               used > limits_.max_header_bytes) {
      refusal_ = {
          431, "the trailer is larger than " + std::to_string(limits_.max_header_bytes) + " bytes"};
    } else if (used == 0) {
      if (rest.size() > limits_.max_header_bytes) {
        refusal_ = {431, "a chunk's head or the trailer is larger than " +
                             std::to_string(limits_.max_header_bytes) + " bytes"};
      }
      break;
    }
  }
  return taken;
}

void RequestReader::check_head() {
  const auto& head = state_->parser.get();
  // Where a body in a foreign coding ends is not known; what follows could be taken for a request.
  if (head.count(http::field::transfer_encoding) > 0 && !state_->parser.chunked()) {
    refusal_ = {501, "the only transfer encoding here is chunked"};
    return;
  }
  // RFC 9112, section 3.2.
  if (head.version() >= 11 && head.count(http::field::host) != 1) {
    refusal_ = {400, "an HTTP/1.1 request names its host, once"};
    return;
  }
  state_->received.keep_alive = head.keep_alive();
  state_->received.takes_chunks = head.version() >= 11;
  HttpRequest& request = state_->received.request;
  request.method = text(head.method_string());
  request.path = decode_path({head.target().data(), head.target().size()});
  for (const auto& field : head) {
    request.headers.push_back({text(field.name_string()), text(field.value())});
  }
}

bool RequestReader::started() const {
  return state_ != nullptr && !complete();
}

bool RequestReader::has_head() const {
  return state_ != nullptr && state_->parser.is_header_done();
}

bool RequestReader::awaits_continue() const {
  if (!has_head() || state_->parser.is_done()) {
    return false;
  }
  const auto& head = state_->parser.get();
  return head.version() >= 11 && boost::beast::iequals(head[http::field::expect], "100-continue");
}

bool RequestReader::complete() const {
  return state_ != nullptr && !refusal_ && state_->parser.is_done();
}

ReceivedRequest RequestReader::take() {
  CHECK(complete());
  ReceivedRequest received = std::move(state_->received);
  received.request.body = std::move(state_->parser.get().body());
  state_.reset();
  return received;
}

void RequestReader::reset() {
  state_.reset();
  refusal_.reset();
}

}  // namespace godwit
