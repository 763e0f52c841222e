#pragma once
// The manual page of the program, in the man macros of troff.

#include <string>
#include <string_view>

#include "cli/command_tree.h"

namespace godwit {

/// `version` stands in the page's foot.
std::string write_man_page(const CommandDescription& program, std::string_view version);

}  // namespace godwit
