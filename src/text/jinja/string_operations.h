#pragma once
// Operations on texts that methods and filters share.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/jinja/budget.h"

namespace godwit::jinja {

/// Splits at a separator, at most `limit` times unless it is negative.
std::vector<std::string_view> split_at(std::string_view text, std::string_view separator,
                                       std::int64_t limit, bool from_right);
/// Splits at runs of white space, which also end the parts at both ends.
std::vector<std::string_view> split_spaces(std::string_view text, std::int64_t limit,
                                           bool from_right);
/// Splits into lines as str.splitlines().
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends = false);

struct Replacement {
  std::string_view from;
  std::string_view to;
  std::int64_t limit = -1;  ///< Negative: all.
};

/// str.replace(). Errors: the limits.
Result<std::string> replace_text(Budget& budget, std::string_view text,
                                 const Replacement& replacement);

/// str.center(). Errors: the limits.
Result<std::string> center_text(Budget& budget, std::string_view text, std::int64_t width,
                                std::string_view fill);

/// str.islower() and str.isupper().
bool is_lower_text(std::string_view text);
bool is_upper_text(std::string_view text);

}  // namespace godwit::jinja
