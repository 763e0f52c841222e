#include "text/jinja/budget.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "text/jinja/error.h"

namespace godwit::jinja {

Status Budget::charge_bytes(std::size_t size) {
  if (size > limits_.max_output_bytes) {
    return error(ErrorType::kLimitError,
                 "the template makes a string longer than max_output_bytes (" +
                     std::to_string(limits_.max_output_bytes) + ")");
  }
  return charge(static_cast<std::int64_t>(size / 32));
}

Status Budget::charge_items(std::int64_t count) {
  if (count > limits_.max_list_items) {
    return error(ErrorType::kLimitError, "the template makes a list longer than max_list_items (" +
                                             std::to_string(limits_.max_list_items) + ")");
  }
  return charge(count);
}

Status Budget::check_value_depth(int depth) const {
  if (depth > limits_.max_value_depth) {
    return error(ErrorType::kRecursionError,
                 "the template nests lists or dicts deeper than max_value_depth (" +
                     std::to_string(limits_.max_value_depth) + ")");
  }
  return {};
}

Status Budget::out_of_steps() const {
  return error(ErrorType::kLimitError, "the template takes more than max_steps (" +
                                           std::to_string(limits_.max_steps) + ")");
}

Status Budget::too_deep() {
  --depth_;
  return error(ErrorType::kRecursionError, "the template nests calls deeper than max_call_depth (" +
                                               std::to_string(limits_.max_call_depth) + ")");
}

}  // namespace godwit::jinja
