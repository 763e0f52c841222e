#include "weights/stored_tensor.h"

#include <limits>

namespace godwit {

std::string shown_name(std::string_view name) {
  constexpr std::size_t kMaxBytes = 120;
  std::string text = "'";
  for (const char c : name.substr(0, kMaxBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < 0x20 || byte == 0x7F ? '?' : c;
  }
  text += name.size() > kMaxBytes ? "...'" : "'";
  return text;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    text += axis == 0 ? "" : ", ";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) {
      return std::nullopt;
    }
    if (size == 0) {
      empty = true;
    } else if (count > std::numeric_limits<std::int64_t>::max() / size) {
      return std::nullopt;
    } else {
      count *= size;
    }
  }
  return empty ? 0 : count;
}

}  // namespace godwit
