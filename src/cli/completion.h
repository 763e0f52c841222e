#pragma once
// Scripts that make a shell complete the program's commands, flags, values and files.

#include <string>

#include "base/status.h"
#include "cli/command_tree.h"

namespace godwit {

/// `shell` is "bash", "zsh" or "fish". Errors: kInvalidArgument for another.
Result<std::string> write_completion(const CommandDescription& program, const std::string& shell);

}  // namespace godwit
