#pragma once
// Reads the fields of tokenizer.json and tekken.json: each reader checks the kind and names the
// field in its error. A field's name is the path from the file's root, such as "model.merges[3]".

#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/json.h"
#include "base/status.h"

namespace godwit {

/// A value and its path.
struct TokenizerField {
  const Json& value;
  std::string path;
  std::string_view file = "tokenizer.json";  ///< For errors.

  /// A member; a null value when there is none.
  [[nodiscard]] TokenizerField operator[](std::string_view key) const;
  [[nodiscard]] TokenizerField element(std::size_t index) const;
  [[nodiscard]] bool absent() const { return value.is_null(); }

  [[nodiscard]] Result<bool> to_bool(bool fallback) const;  ///< `fallback` when absent.
  [[nodiscard]] Result<std::string> to_string() const;
  [[nodiscard]] Result<std::string> to_string(std::string_view fallback) const;
  [[nodiscard]] Result<TokenId> to_token_id() const;  ///< Also checks the range.
  [[nodiscard]] Result<const JsonArray*> to_array() const;
  [[nodiscard]] Result<const JsonObject*> to_object() const;

  /// "<file>: <path> <what>".
  [[nodiscard]] Status wrong(std::string_view what) const;
  [[nodiscard]] Status unsupported(std::string_view what) const;
  /// wrong(), saying what was expected and what is there.
  [[nodiscard]] Status expected(std::string_view kind) const;
};

}  // namespace godwit
