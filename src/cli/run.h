#pragma once
// `godwit run MODEL "prompt"`: one answer, streamed to the terminal.

#include <cstdio>

#include "base/status.h"
#include "cli/options.h"

namespace godwit {

/// Writes the answer's text to `out` as it comes. SIGINT ends it early.
Status run_prompt(const RunCommand& command, std::FILE* out);

}  // namespace godwit
