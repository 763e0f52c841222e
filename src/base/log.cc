#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

namespace godwit::log {

void set_level(Level level) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("godwit"));
  spdlog::set_pattern("%H:%M:%S.%e %^%l%$ %v");
  switch (level) {
    case Level::kDebug:
      spdlog::set_level(spdlog::level::debug);
      return;
    case Level::kInfo:
      spdlog::set_level(spdlog::level::info);
      return;
    case Level::kWarning:
      spdlog::set_level(spdlog::level::warn);
      return;
    case Level::kError:
      spdlog::set_level(spdlog::level::err);
      return;
    case Level::kOff:
      spdlog::set_level(spdlog::level::off);
      return;
  }
}

}  // namespace godwit::log
