#include "server/request_reader.h"

#include <vector>

#include <gtest/gtest.h>

namespace godwit {
namespace {

constexpr RequestLimits kLimits{.max_header_bytes = 200, .max_body_bytes = 100};

/// What became of some bytes: a line a request, and the refusal's status at the end.
std::vector<std::string> outcomes(std::string_view bytes, std::size_t step) {
  RequestReader reader(kLimits);
  std::vector<std::string> out;
  std::string waiting;
  for (std::size_t begin = 0; begin < bytes.size() && !reader.refusal(); begin += step) {
    waiting += bytes.substr(begin, step);
    std::size_t taken = 1;
    while (taken > 0 && !reader.refusal()) {
      taken = reader.read(waiting);
      waiting.erase(0, taken);
      if (reader.complete()) {
        const ReceivedRequest received = reader.take();
        out.push_back(received.request.method + " " + received.request.path + " " +
                      received.request.body + (received.keep_alive ? " +" : " -"));
      }
    }
  }
  if (reader.refusal()) {
    out.push_back(std::to_string(reader.refusal()->status));
  }
  return out;
}

using Lines = std::vector<std::string>;

TEST(RequestReader, ReadsRequestsHoweverTheirBytesCome) {
  const std::string bytes =
      "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
      "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2;x=y\r\nde\r\n1\r\nf\r\n0\r\nConnection: close\r\n\r\n"
      "GET /d HTTP/1.0\r\n\r\n";
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    EXPECT_EQ(outcomes(bytes, step),
              (Lines{"GET /a  +", "POST /b abc +", "POST /c def +", "GET /d  -"}))
        << step;
  }
}

TEST(RequestReader, BoundsEveryPart) {
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string much(300, 'x');
  for (const std::size_t step : {1U, 7U, 1000U}) {
    EXPECT_EQ(outcomes("GET /" + much, step), Lines{"431"});
    EXPECT_EQ(outcomes("GET /" + much.substr(0, 190) + " HTTP/1.0\r\n\r\n", step), Lines{"431"});
    EXPECT_EQ(outcomes("GET /" + much + " HTTP/1.0\r\n\r\n", step), Lines{"431"});
    EXPECT_EQ(outcomes(head + "1;a=" + much, step), Lines{"431"});
    EXPECT_EQ(outcomes(head + "0\r\nX: " + much, step), Lines{"431"});
    EXPECT_EQ(outcomes(head + "0\r\nX: " + much + "\r\n\r\n", step), Lines{"431"});
    EXPECT_EQ(outcomes(head + "12c\r\n", step), Lines{"413"});
    EXPECT_EQ(outcomes("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n", step),
              Lines{"413"});
  }
}

TEST(RequestReader, ATrailerIsNoPartOfTheHead) {
  RequestReader reader(kLimits);
  const std::string_view bytes =
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "0\r\nAuthorization: Bearer key\r\n\r\n";
  std::size_t taken = 0;
  while (!reader.complete()) {
    const std::size_t more = reader.read(bytes.substr(taken));
    ASSERT_GT(more, 0U);
    taken += more;
  }
  EXPECT_EQ(reader.take().request.header("authorization"), nullptr);
}

TEST(RequestReader, RefusesWhatHidesARequest) {
  const std::string line = "POST / HTTP/1.1\r\nHost: x\r\n";
  for (const char* fields :
       {"Content-Length: 1\r\nContent-Length: 2\r\n\r\na", "Content-Length: -1\r\n\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length : 1\r\n\r\na", "X\r\n\r\n", "\xFF: x\r\n\r\n"}) {
    EXPECT_EQ(outcomes(line + fields, 1000), Lines{"400"}) << fields;
  }
  EXPECT_EQ(outcomes(line + "Transfer-Encoding: gzip\r\n\r\n", 1000), Lines{"501"});
  EXPECT_EQ(outcomes("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 1000), Lines{"400"});
}

}  // namespace
}  // namespace godwit
