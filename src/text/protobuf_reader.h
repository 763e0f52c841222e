#pragma once
// Reads the fields of one protocol buffer message from bytes that may be anything.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace godwit {

struct ProtobufField {
  std::uint32_t number = 0;
  std::uint64_t integer = 0;  ///< Of a varint, or the bits of a fixed-width field.
  std::string_view bytes;     ///< Of a length-delimited field: a view of the message.
  bool delimited = false;

  [[nodiscard]] bool is_true() const { return integer != 0; }
  [[nodiscard]] float as_float() const;
  /// A 32-bit integer, which may be negative.
  [[nodiscard]] std::int32_t as_int32() const { return static_cast<std::int32_t>(integer); }
};

/// Walks a message once. Groups, which are obsolete, are an error.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : rest_(message) {}

  /// The next field, or nothing at the end. Errors: kInvalidArgument where the bytes are no field.
  Result<std::optional<ProtobufField>> next();

 private:
  std::optional<std::uint64_t> read_varint();
  std::optional<std::uint64_t> read_fixed(std::size_t bytes);

  std::string_view rest_;
};

}  // namespace godwit
