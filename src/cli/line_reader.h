#pragma once
// Reads a file a line at a time.

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <sys/types.h>

namespace godwit {

/// A line of a file, in memory that getline grows.
class LineReader {
 public:
  /// `file` must outlive this.
  explicit LineReader(std::FILE* file) : file_(file) {}
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  ~LineReader() { std::free(buffer_); }

  /// The next line without its end, which holds until the next call; nothing at the end.
  std::optional<std::string_view> next() {
    const ssize_t length = ::getline(&buffer_, &capacity_, file_);
    if (length < 0) {
      return std::nullopt;
    }
    std::string_view line(buffer_, static_cast<std::size_t>(length));
    if (line.ends_with('\n')) {
      line.remove_suffix(1);
    }
    return line;
  }

 private:
  std::FILE* file_;
  char* buffer_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace godwit
