#pragma once
// A JSON value, its parser and its writer. Objects keep the order of their members, which chat
// templates print; integers keep all their digits up to 64 bits and are written back unchanged.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace godwit {

class Json;
using JsonArray = std::vector<Json>;
using JsonMember = std::pair<std::string, Json>;
/// Members in the order of the text. Duplicate keys: the last one wins, at the first one's place.
using JsonObject = std::vector<JsonMember>;

/// A value type: null, bool, integer, double, string, array or object.
class Json {
 public:
  Json() = default;
  Json(std::nullptr_t) {}                                // NOLINT(google-explicit-constructor)
  Json(bool value) : value_(value) {}                    // NOLINT(google-explicit-constructor)
  Json(int value) : value_(std::int64_t{value}) {}       // NOLINT(google-explicit-constructor)
  Json(std::int64_t value) : value_(value) {}            // NOLINT(google-explicit-constructor)
  Json(std::uint64_t value);                             // NOLINT(google-explicit-constructor)
  Json(double value) : value_(value) {}                  // NOLINT(google-explicit-constructor)
  Json(std::string value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Json(std::string_view value)
      : value_(std::string(value)) {}                      // NOLINT(google-explicit-constructor)
  Json(const char* value) : value_(std::string(value)) {}  // NOLINT(google-explicit-constructor)
  Json(JsonArray value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Json(JsonObject value) : value_(std::move(value)) {}     // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] bool is_bool() const { return std::holds_alternative<bool>(value_); }
  /// Holds for every number written without fraction or exponent that fits 64 bits.
  [[nodiscard]] bool is_integer() const {
    return std::holds_alternative<std::int64_t>(value_) ||
           std::holds_alternative<std::uint64_t>(value_);
  }
  [[nodiscard]] bool is_double() const { return std::holds_alternative<double>(value_); }
  [[nodiscard]] bool is_number() const { return is_integer() || is_double(); }
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(value_); }
  [[nodiscard]] bool is_array() const { return std::holds_alternative<JsonArray>(value_); }
  [[nodiscard]] bool is_object() const { return std::holds_alternative<JsonObject>(value_); }
  /// Names the kind for error messages: "null", "boolean", "integer", "number", "string", ...
  [[nodiscard]] std::string_view kind() const;

  // Each accessor CHECKs the kind; ask first.
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] double as_double() const;  ///< Any number.
  [[nodiscard]] const std::string& as_string() const;
  [[nodiscard]] const JsonArray& as_array() const;
  [[nodiscard]] JsonArray& as_array();
  [[nodiscard]] const JsonObject& as_object() const;
  [[nodiscard]] JsonObject& as_object();
  /// The integer, or nothing when it is no integer or does not fit.
  [[nodiscard]] std::optional<std::int64_t> to_int64() const;
  [[nodiscard]] std::optional<std::uint64_t> to_uint64() const;

  /// Finds a member of an object; null pointer when absent or when this is no object.
  [[nodiscard]] const Json* find(std::string_view key) const;
  /// Sets a member of an object (a null value becomes an empty object first).
  Json& set(std::string_view key, Json value);

  bool operator==(const Json& other) const;

 private:
  // std::uint64_t holds only values above INT64_MAX, so that equal numbers have one form.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, JsonArray,
               JsonObject>
      value_;
};

struct JsonParseOptions {
  int max_depth = 128;
  /// Accepts the bare words NaN, Infinity and -Infinity as numbers, as Python writes them in
  /// config files. Never for requests.
  bool allow_non_finite = false;
  /// Most values in the whole text; a value takes up to some 70 times the bytes of its text, so
  /// what reads large texts from outside bounds them.
  std::size_t max_values = std::numeric_limits<std::size_t>::max();
  /// Refuses an object that names a member twice, instead of letting the last one win.
  bool unique_keys = false;
};

/// Parses one JSON text. `what` names the input in errors ("config.json", "request body").
/// Errors: kInvalidArgument with the byte offset.
Result<Json> parse_json(std::string_view text, std::string_view what,
                        const JsonParseOptions& options = {});

/// Writes a value compactly; `indent` > 0 puts members on lines of their own. Ill-formed UTF-8 is
/// written as U+FFFD. Doubles are the shortest text that reads back equal; NaN and infinities,
/// which JSON lacks, are written as null.
std::string to_json(const Json& value, int indent = 0);

/// Appends a quoted and escaped JSON string.
void append_json_string(std::string& out, std::string_view text);

}  // namespace godwit
