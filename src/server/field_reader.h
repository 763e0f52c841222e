#pragma once
// Reads the fields of a request's body: types are checked, null counts as absent, and what was
// never asked for is known at the end.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace godwit {

/// Reads the members of one object, which must outlive it. The read() methods leave `out` as it is
/// when the field is absent. Errors: kInvalidArgument that begins with the field's name.
class FieldReader {
 public:
  /// Errors: kInvalidArgument when `body` is no object or has absurdly many members.
  static Result<FieldReader> create(const Json& body);

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

  /// Accepts a field that is absent, null or `neutral`, and answers kUnimplemented otherwise.
  Status refuse_unless(std::string_view name, const Json& neutral);
  /// Reads past a field that has no influence, whatever it holds.
  void ignore(std::string_view name) { static_cast<void>(find(name)); }

  /// The members that nothing has asked for.
  [[nodiscard]] std::vector<std::string> unknown() const;

 private:
  explicit FieldReader(const Json& body) : body_(&body) {}

  const Json* body_;
  std::set<std::string, std::less<>> known_;
};

/// Says that a value has the wrong kind.
Status wrong_kind(std::string_view name, std::string_view wanted, const Json& value);

/// An array of token ids in [0, vocab_size). `name` is for errors.
Result<std::vector<std::int32_t>> read_token_ids(std::string_view name, const Json& value,
                                                 std::int64_t vocab_size);

}  // namespace godwit
