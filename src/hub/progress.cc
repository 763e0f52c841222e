#include "hub/progress.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace godwit {
namespace {

constexpr Clock::Duration kRedraw = std::chrono::milliseconds(200);
constexpr Clock::Duration kNextLine = std::chrono::seconds(30);
constexpr std::size_t kBarWidth = 24;

double seconds(Clock::Duration time) {
  return std::chrono::duration<double>(time).count();
}

/// "1:05" or "2:03:04".
std::string time_text(double time) {
  const auto whole = static_cast<std::int64_t>(std::min(std::ceil(time), 359999.0));
  std::array<char, 32> text{};
  if (whole < 3600) {
    std::snprintf(text.data(), text.size(), "%lld:%02lld", static_cast<long long>(whole / 60),
                  static_cast<long long>(whole % 60));
  } else {
    std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld",
                  static_cast<long long>(whole / 3600), static_cast<long long>(whole / 60 % 60),
                  static_cast<long long>(whole % 60));
  }
  return text.data();
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array kUnits = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) {
    return std::to_string(bytes) + " B";
  }
  auto value = static_cast<double>(bytes) / 1000.0;
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

StreamProgress::StreamProgress(std::FILE* out, bool terminal, const Clock& clock)
    : out_(out), terminal_(terminal), clock_(clock) {}

void StreamProgress::start(const std::string& file, std::uint64_t total, std::uint64_t done) {
  file_ = file;
  total_ = total;
  before_ = done;
  done_ = done;
  begin_ = clock_.now();
  drawn_ = begin_;
  if (terminal_) {
    draw(false);
    return;
  }
  std::fprintf(out_, "downloading %s (%s)%s\n", file_.c_str(), bytes_text(total).c_str(),
               done > 0 ? (", going on at " + bytes_text(done)).c_str() : "");
  std::fflush(out_);
}

void StreamProgress::update(std::uint64_t done) {
  done_ = done;
  before_ = std::min(before_, done);
  const Clock::Duration now = clock_.now();
  if (now - drawn_ >= (terminal_ ? kRedraw : kNextLine)) {
    drawn_ = now;
    draw(false);
  }
}

void StreamProgress::finish() {
  draw(true);
}

void StreamProgress::draw(bool last) {
  const double elapsed = seconds(clock_.now() - begin_);
  const double share = total_ == 0 ? 1.0 : static_cast<double>(done_) / static_cast<double>(total_);
  const double rate = elapsed > 0 ? static_cast<double>(done_ - before_) / elapsed : 0.0;
  std::string line = file_;
  if (terminal_) {
    const auto filled = static_cast<std::size_t>(share * kBarWidth);
    line += " [" + std::string(filled, '=') + std::string(kBarWidth - filled, ' ') + "]";
  }
  line += " " + std::to_string(static_cast<int>(share * 100)) + "%  " + bytes_text(done_) + " of " +
          bytes_text(total_);
  if (rate > 0) {
    line += "  " + bytes_text(static_cast<std::uint64_t>(rate)) + "/s";
    line += last ? "  in " + time_text(elapsed)
                 : "  " + time_text(static_cast<double>(total_ - done_) / rate) + " left";
  }
  if (terminal_) {
    // The line that was there may be longer: the terminal erases to its end.
    std::fprintf(out_, "\r%s\x1b[K%s", line.c_str(), last ? "\n" : "");
  } else {
    std::fprintf(out_, "%s\n", line.c_str());
  }
  std::fflush(out_);
}

}  // namespace godwit
