#include "text/tokenizer_fields.h"

#include "text/vocabulary.h"

namespace godwit {
namespace {

const Json kAbsent;

}  // namespace

TokenizerField TokenizerField::operator[](std::string_view key) const {
  const Json* const member = value.find(key);
  return {member != nullptr ? *member : kAbsent,
          path.empty() ? std::string(key) : path + "." + std::string(key), file};
}

TokenizerField TokenizerField::element(std::size_t index) const {
  return {value.as_array()[index], path + "[" + std::to_string(index) + "]", file};
}

Result<bool> TokenizerField::to_bool(bool fallback) const {
  if (absent()) {
    return fallback;
  }
  if (!value.is_bool()) {
    return expected("a boolean");
  }
  return value.as_bool();
}

Result<std::string> TokenizerField::to_string() const {
  if (!value.is_string()) {
    return expected("a string");
  }
  return value.as_string();
}

Result<std::string> TokenizerField::to_string(std::string_view fallback) const {
  return absent() ? Result<std::string>(std::string(fallback)) : to_string();
}

Result<TokenId> TokenizerField::to_token_id() const {
  const std::optional<std::int64_t> id = value.to_int64();
  if (!id) {
    return expected("a token id");
  }
  if (*id < 0 || *id >= kMaxVocabularySize) {
    return wrong("is " + std::to_string(*id) + "; a token id lies between 0 and " +
                 std::to_string(kMaxVocabularySize - 1));
  }
  return static_cast<TokenId>(*id);
}

Result<const JsonArray*> TokenizerField::to_array() const {
  if (!value.is_array()) {
    return expected("an array");
  }
  return &value.as_array();
}

Result<const JsonObject*> TokenizerField::to_object() const {
  if (!value.is_object()) {
    return expected("an object");
  }
  return &value.as_object();
}

Status TokenizerField::wrong(std::string_view what) const {
  return invalid_argument(
      std::string(file) + ": " + (path.empty() ? "the root" : path) + " " + std::string(what),
      "check that the file is complete and unchanged");
}

Status TokenizerField::unsupported(std::string_view what) const {
  return unimplemented(std::string(file) + ": " + path + " " + std::string(what) +
                       " is not supported");
}

Status TokenizerField::expected(std::string_view kind) const {
  return wrong("must be " + std::string(kind) +
               (absent() ? ", and is missing" : ", and is of type " + std::string(value.kind())));
}

}  // namespace godwit
