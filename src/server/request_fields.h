#pragma once
// Every field that a request's body may have, as tables: what FieldReader accepts, what it refuses
// or passes over, and what the OpenAPI description says all come from here.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace godwit {

enum class FieldUse : std::uint8_t {
  kRead,     ///< Has a meaning here.
  kRefused,  ///< Known, but without a feature behind it: anything but the neutral value is a 400.
  kIgnored,  ///< Says nothing about the answer.
};

struct FieldSpec {
  std::string_view name;
  FieldUse use = FieldUse::kRead;
  /// JSON text: the JSON Schema of the value; for kRefused the value that asks for nothing.
  std::string_view schema;
  std::string_view about = {};
};

/// The fields of one kind of object.
struct FieldTable {
  std::string_view name;  ///< Of the object's schema in the OpenAPI description.
  std::array<std::span<const FieldSpec>, 5> parts = {};
  std::string_view required = "[]";  ///< JSON text: the names that must be there.

  [[nodiscard]] const FieldSpec* find(std::string_view field) const;
};

extern const FieldTable kChatFields;
extern const FieldTable kCompletionFields;
extern const FieldTable kTokenizeTextFields;
extern const FieldTable kTokenizeChatFields;  ///< When there are messages.
extern const FieldTable kDetokenizeFields;
extern const FieldTable kStreamOptionFields;
extern const FieldTable kRepetitionDetectionFields;

}  // namespace godwit
