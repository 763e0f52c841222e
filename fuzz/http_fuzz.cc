// Hostile bytes on the wire: the first byte chooses how they are cut into reads, the rest is what
// the client sends. The requests are the same however the bytes come, and nothing outgrows its
// limit.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "server/request_reader.h"

namespace godwit {
namespace {

constexpr RequestLimits kLimits{.max_header_bytes = 512, .max_body_bytes = 256};

/// The requests that the bytes become when they arrive `step` at a time.
std::vector<std::string> read_all(std::string_view bytes, std::size_t step) {
  RequestReader reader(kLimits);
  std::vector<std::string> requests;
  std::string waiting;
  for (std::size_t begin = 0; begin < bytes.size() && !reader.refusal(); begin += step) {
    waiting += bytes.substr(begin, step);
    std::size_t taken = 1;
    while (taken > 0 && !waiting.empty() && !reader.refusal()) {
      taken = reader.read(waiting);
      CHECK_LE(taken, waiting.size());
      waiting.erase(0, taken);
      if (!reader.complete()) {
        continue;
      }
      const ReceivedRequest received = reader.take();
      const HttpRequest& request = received.request;
      CHECK_LE(request.body.size(), kLimits.max_body_bytes);
      std::string line = request.method + " " + request.path + " " + request.body;
      for (const HttpHeader& header : request.headers) {
        line.append(" ").append(header.name).append(":").append(header.value);
      }
      CHECK_LE(line.size() - request.body.size(), 2 * kLimits.max_header_bytes);
      requests.push_back(line + (received.keep_alive ? " keep" : " close"));
    }
    CHECK(reader.refusal().has_value() || waiting.size() <= kLimits.max_header_bytes + step);
  }
  if (reader.refusal()) {
    const int status = reader.refusal()->status;
    CHECK(status == 400 || status == 413 || status == 431 || status == 501);
  }
  return requests;
}

}  // namespace
}  // namespace godwit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 4096) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::vector<std::string> whole = godwit::read_all(bytes, bytes.size());
  const std::vector<std::string> parts = godwit::read_all(bytes, data[0] % 64U + 1U);
  // What is refused may be refused sooner when it comes in pieces, or still be waited for.
  CHECK(whole == parts);
  return 0;
}
