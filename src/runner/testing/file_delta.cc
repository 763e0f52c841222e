#include "runner/testing/file_delta.h"

#include <cstdint>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace godwit::test {

std::string apply_delta(std::string_view delta, std::string_view original) {
  struct Piece {
    std::uint64_t offset;
    std::uint64_t length;
  };
  constexpr std::uint64_t kLiteral = std::numeric_limits<std::uint64_t>::max();
  std::string result;
  while (!delta.empty()) {
    Piece piece = {};
    CHECK(delta.size() >= sizeof(piece));
    std::memcpy(&piece, delta.data(), sizeof(piece));
    delta.remove_prefix(sizeof(piece));
    if (piece.offset == kLiteral) {
      CHECK(piece.length <= delta.size());
      result += delta.substr(0, piece.length);
      delta.remove_prefix(piece.length);
    } else {
      CHECK(piece.offset + piece.length <= original.size());
      result += original.substr(piece.offset, piece.length);
    }
  }
  return result;
}

}  // namespace godwit::test
