#include "base/log.h"

#include <chrono>
#include <ctime>
#include <memory>
#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <string>

#include <fmt/format.h>

#include "base/json.h"

namespace godwit::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    case Level::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

/// One JSON object a line. The members of an event travel in the place of a function's name, since
/// spdlog has none for them: ",\"a\":1".
class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& line, spdlog::memory_buf_t& out) override {
    using std::chrono::milliseconds;
    const auto since = line.time.time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    const auto millis = std::chrono::duration_cast<milliseconds>(since - seconds);
    const std::time_t time = static_cast<std::time_t>(seconds.count());
    std::tm utc{};
    gmtime_r(&time, &utc);
    const auto level = spdlog::level::to_string_view(line.level);
    fmt::format_to(std::back_inserter(out),
                   R"({{"time":"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z","level":"{}",)"
                   R"("message":{}{}}})"
                   "\n",
                   utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                   utc.tm_sec, millis.count(), std::string_view(level.data(), level.size()),
                   to_json(Json(std::string_view(line.payload.data(), line.payload.size()))),
                   line.source.funcname == nullptr ? "" : line.source.funcname);
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

}  // namespace

void set_up(Level level, Format format) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("godwit"));
  if (format == Format::kJson) {
    spdlog::set_formatter(std::make_unique<JsonFormatter>());
  } else {
    spdlog::set_pattern("%H:%M:%S.%e %^%l%$ %v");
  }
  spdlog::set_level(to_spdlog(level));
}

void event(Level level, std::string_view message, const Json& members) {
  if (!spdlog::should_log(to_spdlog(level))) {
    return;
  }
  std::string inside = to_json(members);
  inside.pop_back();
  if (inside.size() > 1) {
    inside.front() = ',';
  } else {
    inside.clear();
  }
  spdlog::log(spdlog::source_loc{"", 0, inside.c_str()}, to_spdlog(level), "{}", message);
}

}  // namespace godwit::log
