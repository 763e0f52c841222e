#include "bench/event_reader.h"

#include <utility>

namespace godwit {
namespace {

constexpr std::size_t kMaxEventBytes = std::size_t{16} << 20;

}  // namespace

Status EventReader::add(std::string_view piece) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  if (buffer_.size() + data_.size() + piece.size() > kMaxEventBytes) {
    return invalid_argument("The server sent an event of more than 16 MiB");
  }
  buffer_ += piece;
  return {};
}

std::optional<std::string> EventReader::next() {
  while (true) {
    const std::size_t end = buffer_.find('\n', begin_);
    if (end == std::string::npos) {
      return std::nullopt;
    }
    std::string_view line(buffer_.data() + begin_, end - begin_);
    begin_ = end + 1;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.empty()) {
      if (has_data_) {
        has_data_ = false;
        return std::exchange(data_, {});
      }
      continue;
    }
    constexpr std::string_view kData = "data:";
    if (!line.starts_with(kData)) {
      continue;
    }
    line.remove_prefix(kData.size());
    if (line.starts_with(' ')) {
      line.remove_prefix(1);
    }
    if (has_data_) {
      data_ += '\n';
    }
    data_ += line;
    has_data_ = true;
  }
}

}  // namespace godwit
