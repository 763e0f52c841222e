#include "text/protobuf_reader.h"

#include <bit>

namespace godwit {
namespace {

// How a field is encoded: the low bits of its key.
constexpr std::uint64_t kVarint = 0;
constexpr std::uint64_t kFixed64 = 1;
constexpr std::uint64_t kDelimited = 2;
constexpr std::uint64_t kFixed32 = 5;

Status malformed() {
  return invalid_argument("the bytes are no protocol buffer message",
                          "check that the file is complete and unchanged");
}

}  // namespace

float ProtobufField::as_float() const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(integer));
}

std::optional<std::uint64_t> ProtobufReader::read_varint() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 10 && i < rest_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    value |= std::uint64_t{byte & 0x7FU} << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ProtobufReader::read_fixed(std::size_t bytes) {
  if (rest_.size() < bytes) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  }
  rest_.remove_prefix(bytes);
  return value;
}

Result<std::optional<ProtobufField>> ProtobufReader::next() {
  if (rest_.empty()) {
    return std::optional<ProtobufField>();
  }
  const std::optional<std::uint64_t> key = read_varint();
  if (!key || (*key >> 3) == 0 || (*key >> 3) > 0x1FFFFFFFU) {
    return malformed();
  }
  ProtobufField field;
  field.number = static_cast<std::uint32_t>(*key >> 3);
  std::optional<std::uint64_t> value;
  switch (*key & 7U) {
    case kVarint:
    case kDelimited:
      value = read_varint();
      break;
    case kFixed64:
      value = read_fixed(8);
      break;
    case kFixed32:
      value = read_fixed(4);
      break;
    default:
      break;
  }
  if (!value) {
    return malformed();
  }
  field.integer = *value;
  if ((*key & 7U) == kDelimited) {
    if (*value > rest_.size()) {
      return malformed();
    }
    field.delimited = true;
    field.bytes = rest_.substr(0, static_cast<std::size_t>(*value));
    rest_.remove_prefix(field.bytes.size());
  }
  return std::optional(field);
}

}  // namespace godwit
