#include "base/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace godwit {
namespace {

/// Receives the events of nlohmann's parser and builds a Json, refusing what is nested too deeply.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const JsonParseOptions& options)
      : max_depth_(options.max_depth),
        values_left_(options.max_values),
        unique_keys_(options.unique_keys) {}

  bool null() override { return put(Json()); }
  bool boolean(bool value) override { return put(Json(value)); }
  bool number_integer(std::int64_t value) override { return put(Json(value)); }
  bool number_unsigned(std::uint64_t value) override { return put(Json(value)); }
  bool number_float(double value, const std::string& /*text*/) override { return put(Json(value)); }
  bool string(std::string& value) override { return put(Json(std::move(value))); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Json(JsonObject())); }
  bool start_array(std::size_t /*size*/) override { return open(Json(JsonArray())); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& key) override {
    keys_.back() = std::move(key);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    error_position_ = position;
    error_ = error.what();
    return false;
  }

  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] std::size_t error_position() const { return error_position_; }
  [[nodiscard]] bool too_deep() const { return too_deep_; }
  [[nodiscard]] bool too_many() const { return too_many_; }
  [[nodiscard]] const std::optional<std::string>& duplicate() const { return duplicate_; }
  Json take() { return std::move(root_); }

 private:
  bool open(Json container) {
    if (static_cast<int>(stack_.size()) >= max_depth_) {
      too_deep_ = true;
      return false;
    }
    stack_.push_back(std::move(container));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    Json done = std::move(stack_.back());
    stack_.pop_back();
    keys_.pop_back();
    if (unique_keys_ && done.is_object() && find_duplicate(done.as_object())) {
      return false;
    }
    return put(std::move(done));
  }
  bool put(Json value) {
    if (values_left_ == 0) {
      too_many_ = true;
      return false;
    }
    --values_left_;
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (stack_.back().is_array()) {
      stack_.back().as_array().push_back(std::move(value));
    } else {
      put_member(std::move(value));
    }
    return true;
  }
  void put_member(Json value) {
    JsonObject& object = stack_.back().as_object();
    if (unique_keys_) {  // They are looked for when the object ends.
      object.emplace_back(std::move(keys_.back()), std::move(value));
      return;
    }
    // Duplicates are looked for in small objects only: a vocabulary of 262144 entries would cost
    // quadratic time, and there the loader checks for duplicates itself.
    constexpr std::size_t kSearchLimit = 512;
    if (object.size() <= kSearchLimit) {
      for (JsonMember& member : object) {
        if (member.first == keys_.back()) {
          member.second = std::move(value);
          return;
        }
      }
    }
    object.emplace_back(std::move(keys_.back()), std::move(value));
  }

  bool find_duplicate(const JsonObject& object) {
    std::vector<std::string_view> keys;
    keys.reserve(object.size());
    for (const JsonMember& member : object) {
      keys.emplace_back(member.first);
    }
    std::sort(keys.begin(), keys.end());
    const auto found = std::adjacent_find(keys.begin(), keys.end());
    if (found != keys.end()) {
      duplicate_ = std::string(*found);
    }
    return duplicate_.has_value();
  }

  int max_depth_;
  std::size_t values_left_;
  bool unique_keys_;
  bool too_deep_ = false;
  bool too_many_ = false;
  std::optional<std::string> duplicate_;
  std::vector<Json> stack_;
  std::vector<std::string> keys_;
  Json root_;
  std::string error_;
  std::size_t error_position_ = 0;
};

/// Quotes the bare words that Python's json module writes for numbers that JSON lacks, giving
/// {"__float__": "Infinity"}, the form that newer config files use for them.
std::string quote_non_finite(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords = {"-Infinity", "Infinity", "NaN"};
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      out.append(text.substr(i, 2));
      i += 2;
      continue;
    }
    if (c == '"') {
      in_string = !in_string;
    }
    bool replaced = false;
    for (const std::string_view word : kWords) {
      if (!in_string && text.substr(i, word.size()) == word) {
        out.append(R"({"__float__":")").append(word).append(R"("})");
        i += word.size();
        replaced = true;
        break;
      }
    }
    if (!replaced) {
      out.push_back(c);
      ++i;
    }
  }
  return out;
}

/// Turns every {"__float__": "Infinity"} into the number.
void resolve_non_finite(Json& value) {
  if (value.is_array()) {
    for (Json& element : value.as_array()) {
      resolve_non_finite(element);
    }
    return;
  }
  if (!value.is_object()) {
    return;
  }
  const Json* word = value.as_object().size() == 1 ? value.find("__float__") : nullptr;
  if (word == nullptr || !word->is_string()) {
    for (JsonMember& member : value.as_object()) {
      resolve_non_finite(member.second);
    }
    return;
  }
  const std::string name = word->as_string();
  if (name == "Infinity") {
    value = Json(std::numeric_limits<double>::infinity());
  } else if (name == "-Infinity") {
    value = Json(-std::numeric_limits<double>::infinity());
  } else if (name == "NaN") {
    value = Json(std::numeric_limits<double>::quiet_NaN());
  }
}

/// Length of the well-formed UTF-8 sequence at the start of `text`, or 0.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return continues(1) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90;
    const bool too_large = lead == 0xF4 && byte(1) > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  CHECK(error == std::errc());
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) {
    out += ".0";
  }
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void write(const Json& value, int depth) {
    if (value.is_null()) {
      out_ += "null";
    } else if (value.is_bool()) {
      out_ += value.as_bool() ? "true" : "false";
    } else if (value.is_integer()) {
      const auto number = value.to_int64();
      out_ += number ? std::to_string(*number) : std::to_string(value.to_uint64().value_or(0));
    } else if (value.is_double()) {
      append_double(out_, value.as_double());
    } else if (value.is_string()) {
      append_json_string(out_, value.as_string());
    } else if (value.is_array()) {
      write_all('[', ']', value.as_array(), depth,
                [&](const Json& element) { write(element, depth + 1); });
    } else {
      write_all('{', '}', value.as_object(), depth, [&](const JsonMember& member) {
        append_json_string(out_, member.first);
        out_ += indent_ > 0 ? ": " : ":";
        write(member.second, depth + 1);
      });
    }
  }
  std::string take() { return std::move(out_); }

 private:
  template <class Items, class WriteItem>
  void write_all(char open, char close, const Items& items, int depth,
                 const WriteItem& write_item) {
    out_ += open;
    bool first = true;
    for (const auto& item : items) {
      if (!first) {
        out_ += ',';
      }
      first = false;
      new_line(depth + 1);
      write_item(item);
    }
    if (!first) {
      new_line(depth);
    }
    out_ += close;
  }
  void new_line(int depth) {
    if (indent_ > 0) {
      out_ += '\n';
      out_.append(static_cast<std::size_t>(indent_ * depth), ' ');
    }
  }

  int indent_;
  std::string out_;
};

}  // namespace

std::string_view Json::kind() const {
  constexpr std::array<std::string_view, 8> kNames = {"null",   "boolean", "integer", "integer",
                                                      "number", "string",  "array",   "object"};
  return kNames[value_.index()];
}

bool Json::as_bool() const {
  CHECK(is_bool());
  return std::get<bool>(value_);
}

double Json::as_double() const {
  CHECK(is_number());
  if (const auto* integer = std::get_if<std::int64_t>(&value_)) {
    return static_cast<double>(*integer);
  }
  if (const auto* integer = std::get_if<std::uint64_t>(&value_)) {
    return static_cast<double>(*integer);
  }
  return std::get<double>(value_);
}

const std::string& Json::as_string() const {
  CHECK(is_string());
  return std::get<std::string>(value_);
}

const JsonArray& Json::as_array() const {
  CHECK(is_array());
  return std::get<JsonArray>(value_);
}

JsonArray& Json::as_array() {
  CHECK(is_array());
  return std::get<JsonArray>(value_);
}

const JsonObject& Json::as_object() const {
  CHECK(is_object());
  return std::get<JsonObject>(value_);
}

JsonObject& Json::as_object() {
  CHECK(is_object());
  return std::get<JsonObject>(value_);
}

std::optional<std::int64_t> Json::to_int64() const {
  if (const auto* integer = std::get_if<std::int64_t>(&value_)) {
    return *integer;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Json::to_uint64() const {
  if (const auto* integer = std::get_if<std::uint64_t>(&value_)) {
    return *integer;
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value_);
      integer != nullptr && *integer >= 0) {
    return static_cast<std::uint64_t>(*integer);
  }
  return std::nullopt;
}

Json::Json(std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    value_ = static_cast<std::int64_t>(value);
  } else {
    value_ = value;
  }
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) {
    return nullptr;
  }
  for (const JsonMember& member : as_object()) {
    if (member.first == key) {
      return &member.second;
    }
  }
  return nullptr;
}

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) {
    value_ = JsonObject();
  }
  JsonObject& object = as_object();
  for (JsonMember& member : object) {
    if (member.first == key) {
      member.second = std::move(value);
      return member.second;
    }
  }
  object.emplace_back(std::string(key), std::move(value));
  return object.back().second;
}

bool Json::operator==(const Json& other) const {
  return value_ == other.value_;
}

Result<Json> parse_json(std::string_view text, std::string_view what,
                        const JsonParseOptions& options) {
  std::string quoted;
  if (options.allow_non_finite) {
    quoted = quote_non_finite(text);
    text = quoted;
  }
  Builder builder(options);
  const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  if (builder.too_deep()) {
    return invalid_argument(std::string(what) + " is nested deeper than " +
                            std::to_string(options.max_depth) + " levels");
  }
  if (builder.too_many()) {
    return invalid_argument(std::string(what) + " holds more than " +
                            std::to_string(options.max_values) + " values");
  }
  if (builder.duplicate()) {
    std::string cause(what);
    cause += " names ";
    append_json_string(cause, *builder.duplicate());
    return invalid_argument(cause + " twice in one object");
  }
  if (!parsed) {
    // nlohmann's text reads "[json.exception.parse_error.101] parse error at line 1, ...: reason".
    std::string reason = builder.error();
    if (const std::size_t colon = reason.find(": "); colon != std::string::npos) {
      reason.erase(0, colon + 2);
    }
    return invalid_argument(std::string(what) + " is not valid JSON at byte " +
                            std::to_string(builder.error_position()) + ": " + reason);
  }
  Json value = builder.take();
  if (options.allow_non_finite) {
    resolve_non_finite(value);
  }
  return value;
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto c = static_cast<unsigned char>(text.front());
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += text.front();
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20) {
      out += "\\u00";
      out += kHex[c >> 4U];
      out += kHex[c & 15U];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

std::string to_json(const Json& value, int indent) {
  Writer writer(indent);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace godwit
