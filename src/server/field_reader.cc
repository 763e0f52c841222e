#include "server/field_reader.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace godwit {
namespace {

constexpr std::size_t kMaxMembers = 1000;

/// Takes 5.0 for 5, as some clients have one kind of number only.
std::optional<std::int64_t> to_integer(const Json& value) {
  if (const auto integer = value.to_int64()) {
    return integer;
  }
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value.is_double() && std::fabs(value.as_double()) < kExact &&
      std::trunc(value.as_double()) == value.as_double()) {
    return static_cast<std::int64_t>(value.as_double());
  }
  return std::nullopt;
}

bool same(const Json& a, const Json& b) {
  return a.is_number() && b.is_number() ? a.as_double() == b.as_double() : a == b;
}

}  // namespace

Status wrong_kind(std::string_view name, std::string_view wanted, const Json& value) {
  return invalid_argument(
      std::string(name) + " must be " + std::string(wanted) + ", not " +
      (value.is_array() || value.is_object() || value.kind() == "integer" ? "an " : "a ") +
      std::string(value.kind()));
}

Result<FieldReader> FieldReader::create(const Json& body, const FieldTable& table) {
  if (!body.is_object()) {
    return invalid_argument("The request body must be a JSON object, not " +
                            std::string(body.kind()));
  }
  if (body.as_object().size() > kMaxMembers) {
    return invalid_argument("The request body has more than " + std::to_string(kMaxMembers) +
                            " fields");
  }
  for (const auto& [name, value] : body.as_object()) {
    const FieldSpec* spec = table.find(name);
    if (spec == nullptr || spec->use != FieldUse::kRefused || value.is_null()) {
      continue;
    }
    if (!same(value, TRY(parse_json(spec->schema, spec->name)))) {
      return unimplemented(name + " is not supported by this server", "leave it out");
    }
  }
  return FieldReader(body, table);
}

const Json* FieldReader::find(std::string_view name) {
  CHECK(table_->find(name) != nullptr);
  const Json* value = body_->find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Status FieldReader::read(std::string_view name, bool& out) {
  if (const Json* value = find(name)) {
    if (!value->is_bool()) {
      return wrong_kind(name, "true or false", *value);
    }
    out = value->as_bool();
  }
  return {};
}

Status FieldReader::read(std::string_view name, std::int64_t& out) {
  if (const Json* value = find(name)) {
    const auto integer = to_integer(*value);
    if (!integer) {
      return value->is_integer()
                 ? invalid_argument(std::string(name) + " is too large for a 64-bit integer")
                 : wrong_kind(name, "an integer", *value);
    }
    out = *integer;
  }
  return {};
}

Status FieldReader::read(std::string_view name, std::int32_t& out) {
  std::int64_t wide = out;
  TRY(read(name, wide));
  if (wide < std::numeric_limits<std::int32_t>::min() ||
      wide > std::numeric_limits<std::int32_t>::max()) {
    return invalid_argument(std::string(name) + " is too large for a 32-bit integer");
  }
  out = static_cast<std::int32_t>(wide);
  return {};
}

Status FieldReader::read(std::string_view name, float& out) {
  if (const Json* value = find(name)) {
    if (!value->is_number()) {
      return wrong_kind(name, "a number", *value);
    }
    out = static_cast<float>(value->as_double());
  }
  return {};
}

Status FieldReader::read(std::string_view name, std::string& out) {
  if (const Json* value = find(name)) {
    if (!value->is_string()) {
      return wrong_kind(name, "a string", *value);
    }
    out = value->as_string();
  }
  return {};
}

Status FieldReader::read_strings(std::string_view name, std::size_t limit,
                                 std::vector<std::string>& out) {
  const Json* value = find(name);
  if (value == nullptr) {
    return {};
  }
  if (value->is_string()) {
    out = {value->as_string()};
    return {};
  }
  if (!value->is_array()) {
    return wrong_kind(name, "a string or an array of strings", *value);
  }
  if (value->as_array().size() > limit) {
    return invalid_argument(std::string(name) + " holds more than " + std::to_string(limit) +
                            " strings");
  }
  out.clear();
  for (const Json& element : value->as_array()) {
    if (!element.is_string()) {
      return wrong_kind(name, "a string or an array of strings", element);
    }
    out.push_back(element.as_string());
  }
  return {};
}

Status FieldReader::read_ids(std::string_view name, std::int64_t vocab_size,
                             std::vector<std::int32_t>& out) {
  if (const Json* value = find(name)) {
    out = TRY(read_token_ids(name, *value, vocab_size));
  }
  return {};
}

std::vector<std::string> FieldReader::unknown() const {
  std::vector<std::string> names;
  for (const JsonMember& member : body_->as_object()) {
    if (table_->find(member.first) == nullptr) {
      names.push_back(member.first);
    }
  }
  return names;
}

Result<std::vector<std::int32_t>> read_token_ids(std::string_view name, const Json& value,
                                                 std::int64_t vocab_size) {
  if (!value.is_array()) {
    return wrong_kind(name, "an array of token ids", value);
  }
  std::vector<std::int32_t> ids;
  ids.reserve(value.as_array().size());
  for (const Json& element : value.as_array()) {
    const auto id = element.to_int64();
    if (!id) {
      return wrong_kind(name, "an array of token ids", element);
    }
    if (*id < 0 || *id >= vocab_size) {
      return invalid_argument(std::string(name) + " holds the token id " + std::to_string(*id),
                              "ids of this model are 0 to " + std::to_string(vocab_size - 1));
    }
    ids.push_back(static_cast<std::int32_t>(*id));
  }
  return ids;
}

}  // namespace godwit
