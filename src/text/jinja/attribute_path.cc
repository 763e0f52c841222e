#include "text/jinja/attribute_path.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"
#include "text/jinja/string_operations.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

constexpr std::size_t kMaxIndexDigits = 9;

Value part_of(std::string_view text) {
  const bool is_index = !text.empty() && text.size() <= kMaxIndexDigits &&
                        text.find_first_not_of("0123456789") == std::string_view::npos;
  return is_index ? Value(std::int64_t{std::stoi(std::string(text))}) : Value(text);
}

}  // namespace

Result<AttributePath> AttributePath::parse(Budget& budget, const Value& attribute) {
  AttributePath path;
  if (attribute.is_integer()) {
    path.parts_.push_back(attribute);
    return path;
  }
  const std::string text = TRY(to_text(budget, attribute));
  for (const std::string_view part : split_at(text, ".", -1, false)) {
    path.parts_.push_back(part_of(part));
  }
  return path;
}

Result<std::vector<AttributePath>> AttributePath::parse_list(Budget& budget,
                                                             const Value& attribute) {
  std::vector<AttributePath> paths;
  if (attribute.is_integer()) {
    paths.push_back(TRY(parse(budget, attribute)));
    return paths;
  }
  const std::string text = TRY(to_text(budget, attribute));
  for (const std::string_view part : split_at(text, ",", -1, false)) {
    paths.push_back(TRY(parse(budget, Value(part))));
  }
  return paths;
}

Result<Value> AttributePath::get(Runtime& runtime, const Value& object) const {
  Value value = object;
  for (const Value& part : parts_) {
    value = TRY(get_item(runtime, value, part));
  }
  return value;
}

}  // namespace godwit::jinja
