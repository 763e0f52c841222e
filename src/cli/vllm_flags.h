#pragma once
// vLLM's spellings of the command line.

#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace godwit {

/// Rewrites what vLLM's users type into one spelling: `-tp 2` and `-tp=2` become
/// `--tensor-parallel-size 2`, and `_` in the name of a flag becomes `-`.
std::vector<std::string> normalize_flags(std::span<const std::string> arguments);

/// Errors: kUnimplemented naming the first flag that vLLM has and godwit does not, or that godwit
/// has for one value only.
Status refuse_unsupported_flags(std::span<const std::string> arguments);

}  // namespace godwit
