#pragma once
// Reads the fields of a request's body: types are checked, null counts as absent, and what no table
// has is known.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "server/request_fields.h"

namespace godwit {

/// Reads the members of one object, which must outlive it. Only fields of its table may be asked
/// for. The read() methods leave `out` as it is when the field is absent. Errors: kInvalidArgument
/// that begins with the field's name.
class FieldReader {
 public:
  /// Errors: kInvalidArgument when `body` is no object or has absurdly many members;
  /// kUnimplemented when it asks for what the table refuses.
  static Result<FieldReader> create(const Json& body, const FieldTable& table);

  Status read(std::string_view name, bool& out);
  Status read(std::string_view name, std::int32_t& out);
  Status read(std::string_view name, std::int64_t& out);
  Status read(std::string_view name, float& out);
  Status read(std::string_view name, std::string& out);
  template <class T>
  Status read(std::string_view name, std::optional<T>& out) {
    if (find(name) == nullptr) {
      return {};
    }
    return read(name, out.emplace());
  }
  /// A string or an array of strings, at most `limit`.
  Status read_strings(std::string_view name, std::size_t limit, std::vector<std::string>& out);
  /// An array of token ids below `vocab_size`.
  Status read_ids(std::string_view name, std::int64_t vocab_size, std::vector<std::int32_t>& out);

  /// The field's value, for those with forms of their own; null pointer when absent or null.
  const Json* find(std::string_view name);

  /// The members that the table does not have.
  [[nodiscard]] std::vector<std::string> unknown() const;

 private:
  FieldReader(const Json& body, const FieldTable& table) : body_(&body), table_(&table) {}

  const Json* body_;
  const FieldTable* table_;
};

/// Says that a value has the wrong kind.
Status wrong_kind(std::string_view name, std::string_view wanted, const Json& value);

/// An array of token ids in [0, vocab_size). `name` is for errors.
Result<std::vector<std::int32_t>> read_token_ids(std::string_view name, const Json& value,
                                                 std::int64_t vocab_size);

}  // namespace godwit
