#pragma once
// What a download shows of itself: a bar that is redrawn on a terminal, plain lines elsewhere.

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/clock.h"

namespace godwit {

/// Told of one file after another.
class Progress {
 public:
  virtual ~Progress() = default;
  /// A file of `total` bytes begins, of which `done` were there before.
  virtual void start(const std::string& file, std::uint64_t total, std::uint64_t done) = 0;
  /// So many bytes are there now; fewer than before when the server begins again.
  virtual void update(std::uint64_t done) = 0;
  /// The file is complete, or given up.
  virtual void finish() = 0;
};

/// Writes to `out`, which both must outlive it with `clock`.
class StreamProgress final : public Progress {
 public:
  /// `terminal`: redraw one line, some times a second; otherwise a line at the start of a file, at
  /// its end, and twice a minute between them.
  StreamProgress(std::FILE* out, bool terminal, const Clock& clock);

  void start(const std::string& file, std::uint64_t total, std::uint64_t done) override;
  void update(std::uint64_t done) override;
  void finish() override;

 private:
  void draw(bool last);

  std::FILE* out_;
  bool terminal_;
  const Clock& clock_;
  std::string file_;
  std::uint64_t total_ = 0;
  std::uint64_t before_ = 0;  ///< Bytes that this run did not fetch.
  std::uint64_t done_ = 0;
  Clock::Duration begin_{};
  Clock::Duration drawn_{};
};

/// "812 B", "3.4 MB", "12.0 GB": powers of 1000, as networks and hubs count.
std::string bytes_text(std::uint64_t bytes);

}  // namespace godwit
