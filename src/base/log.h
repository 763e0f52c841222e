#pragma once
// Log lines on standard error: `log::info("loaded {} tensors", n)`. Included by .cc files only, and
// never used inside a kernel.

#include <spdlog/spdlog.h>
#include <string_view>
#include <utility>

namespace godwit {
class Json;
}

namespace godwit::log {

enum class Level { kDebug, kInfo, kWarning, kError, kOff };

/// kText is for people; kJson writes an object a line: "time" (UTC), "level", "message", and what
/// event() adds.
enum class Format { kText, kJson };

/// Sets what is written and how; called once, by cli/, before other threads start.
void set_up(Level level, Format format = Format::kText);

/// Writes a line that programs read too: `members`, an object, become members of the line in JSON;
/// in text the message says it all.
void event(Level level, std::string_view message, const Json& members);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::debug(format, std::forward<Args>(args)...);
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::info(format, std::forward<Args>(args)...);
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::warn(format, std::forward<Args>(args)...);
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::error(format, std::forward<Args>(args)...);
}

}  // namespace godwit::log
