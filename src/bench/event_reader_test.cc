#include "bench/event_reader.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace godwit {
namespace {

std::vector<std::string> read_in_pieces(std::string_view stream, std::size_t size) {
  EventReader reader;
  std::vector<std::string> events;
  for (std::size_t begin = 0; begin < stream.size(); begin += size) {
    EXPECT_TRUE(reader.add(stream.substr(begin, size)).ok());
    while (auto event = reader.next()) {
      events.push_back(*event);
    }
  }
  return events;
}

// The stream of the HTML standard's section on server-sent events: comments and other fields are
// dropped, lines of data are joined, one space after the colon goes.
TEST(EventReader, ReadsAStreamCutAnywhere) {
  const std::string stream =
      ": comment\ndata: first\nid: 1\n\ndata:second\r\nretry: 5\r\n\r\ndata:  third\ndata\ndata: "
      "more\n\n\nid\n\ndata: [DONE]\n\ndata: unfinished";
  const std::vector<std::string> expected{"first", "second", " third\nmore", "[DONE]"};
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    EXPECT_EQ(read_in_pieces(stream, size), expected) << size;
  }
}

TEST(EventReader, RefusesAnEventWithoutEnd) {
  EventReader reader;
  const std::string piece(std::size_t{1} << 20, 'x');
  Status status;
  int added = 0;
  for (; status.ok() && added < 100; ++added) {
    status = reader.add(piece);
    EXPECT_FALSE(reader.next());
  }
  EXPECT_EQ(added, 17);
}

}  // namespace
}  // namespace godwit
