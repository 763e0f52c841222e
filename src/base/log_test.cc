#include "base/log.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/json.h"

namespace godwit {
namespace {

/// What is written to standard error by a line of each kind. Runs in a child, because the log is
/// set up once in a process's life.
void write_lines(log::Level level, log::Format format) {
  log::set_up(level, format);
  log::info("a \"quoted\"\nline");
  log::event(log::Level::kInfo, "an event", JsonObject{{"answer", 42}, {"text", "x\ty"}});
  log::event(log::Level::kInfo, "no members", JsonObject{});
  log::debug("hidden");
  std::exit(0);
}

const char* const kStart =
    R"(\{"time":"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z","level":"info",)";

TEST(LogDeathTest, JsonLinesAreObjects) {
  const auto write = [] { write_lines(log::Level::kInfo, log::Format::kJson); };
  const std::string start = kStart;
  const std::string quoted = start + R"("message":"a \\"quoted\\"\\nline"\})" + "\n";
  const std::string event = start + R"("message":"an event","answer":42,"text":"x\\ty"\})" + "\n";
  const std::string bare = start + R"("message":"no members"\})" + "\n$";
  EXPECT_EXIT(write(), testing::ExitedWithCode(0), "^" + quoted + event + bare);
}

TEST(LogDeathTest, TextLinesLeaveTheMembersOut) {
  EXPECT_EXIT(write_lines(log::Level::kInfo, log::Format::kText), testing::ExitedWithCode(0),
              " info an event\n[^{}]* info no members\n$");
}

}  // namespace
}  // namespace godwit
