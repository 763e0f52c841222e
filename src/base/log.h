#pragma once
// Log lines on standard error: `log::info("loaded {} tensors", n)`. Included by .cc files only, and
// never used inside a kernel.

#include <spdlog/spdlog.h>
#include <string_view>
#include <utility>

namespace godwit::log {

enum class Level { kDebug, kInfo, kWarning, kError, kOff };

/// Sets what is written; called once, by cli/.
void set_level(Level level);

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
