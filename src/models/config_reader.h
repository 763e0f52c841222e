#pragma once
// Typed reading of a model's config: a missing, mistyped or out-of-range field is an error that
// names the file, the key and what was expected. Numbers are never invented.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace godwit {

/// A view of one JSON object of a config; the Json must outlive it. A field that is null counts as
/// absent, as in Hugging Face's configs.
class ConfigReader {
 public:
  /// `name` stands for the object in errors: "config.json" or "config.json: rope_scaling".
  ConfigReader(const Json& object, std::string name) : object_(object), name_(std::move(name)) {}

  /// An integer in [minimum, maximum].
  [[nodiscard]] Result<std::int64_t> integer(std::string_view key, std::int64_t minimum = 1,
                                             std::int64_t maximum = kLargest) const;
  [[nodiscard]] Result<std::optional<std::int64_t>> optional_integer(
      std::string_view key, std::int64_t minimum = 1, std::int64_t maximum = kLargest) const;
  /// A number > 0 that f32, in which models are computed, can hold.
  [[nodiscard]] Result<double> positive(std::string_view key) const;
  [[nodiscard]] Result<bool> boolean(std::string_view key, bool absent) const;
  [[nodiscard]] Result<std::string> string(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::vector<std::string>>> optional_strings(
      std::string_view key) const;
  /// The member, or null pointer when absent or null.
  [[nodiscard]] const Json* find(std::string_view key) const;
  [[nodiscard]] const std::string& name() const { return name_; }

  /// An error about one field: "<file>: <key> is <found>, expected <expected>".
  [[nodiscard]] Status unexpected(std::string_view key, std::string_view expected) const;

  static constexpr std::int64_t kMostLayers = 4096;
  /// No size of a real model comes near. Positions and ids are 32-bit numbers on devices, and the
  /// product of two sizes stays within 63 bits.
  static constexpr std::int64_t kLargest = (std::int64_t{1} << 31) - 1;

 private:
  const Json& object_;
  std::string name_;
};

}  // namespace godwit
