#include "models/config_reader.h"

#include <limits>

namespace godwit {

const Json* ConfigReader::find(std::string_view key) const {
  const Json* member = object_.find(key);
  return member != nullptr && !member->is_null() ? member : nullptr;
}

Status ConfigReader::unexpected(std::string_view key, std::string_view expected) const {
  const Json* member = object_.find(key);
  std::string found = member == nullptr ? "missing" : to_json(*member);
  if (found.size() > 60) {
    found = found.substr(0, 57) + "...";
  }
  return invalid_argument(name_ + ": " + std::string(key) + " is " + found + ", expected " +
                          std::string(expected));
}

Result<std::optional<std::int64_t>> ConfigReader::optional_integer(std::string_view key,
                                                                   std::int64_t minimum,
                                                                   std::int64_t maximum) const {
  const Json* member = find(key);
  if (member == nullptr) {
    return std::optional<std::int64_t>();
  }
  const std::optional<std::int64_t> value = member->to_int64();
  if (!value || *value < minimum || *value > maximum) {
    return unexpected(
        key, "an integer from " + std::to_string(minimum) + " to " + std::to_string(maximum));
  }
  return value;
}

Result<std::int64_t> ConfigReader::integer(std::string_view key, std::int64_t minimum,
                                           std::int64_t maximum) const {
  const std::optional<std::int64_t> value = TRY(optional_integer(key, minimum, maximum));
  if (!value) {
    return unexpected(key, "an integer");
  }
  return *value;
}

Result<double> ConfigReader::positive(std::string_view key) const {
  using Limits = std::numeric_limits<float>;
  const Json* member = find(key);
  // NaN fails every comparison, so it is refused with the rest.
  if (member == nullptr || !member->is_number() || !(member->as_double() >= Limits::min()) ||
      !(member->as_double() <= Limits::max())) {
    return unexpected(key, "a number > 0 that is neither tiny nor huge");
  }
  return member->as_double();
}

Result<bool> ConfigReader::boolean(std::string_view key, bool absent) const {
  const Json* member = find(key);
  if (member == nullptr) {
    return absent;
  }
  if (!member->is_bool()) {
    return unexpected(key, "true or false");
  }
  return member->as_bool();
}

Result<std::string> ConfigReader::string(std::string_view key) const {
  const Json* member = find(key);
  if (member == nullptr || !member->is_string()) {
    return unexpected(key, "a string");
  }
  return member->as_string();
}

Result<std::optional<std::vector<std::string>>> ConfigReader::optional_strings(
    std::string_view key) const {
  const Json* member = find(key);
  if (member == nullptr) {
    return std::optional<std::vector<std::string>>();
  }
  if (!member->is_array()) {
    return unexpected(key, "a list of strings");
  }
  std::vector<std::string> values;
  for (const Json& element : member->as_array()) {
    if (!element.is_string()) {
      return unexpected(key, "a list of strings");
    }
    values.push_back(element.as_string());
  }
  return std::optional(std::move(values));
}

}  // namespace godwit
