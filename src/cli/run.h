#pragma once
// `godwit run MODEL ["prompt"]`: one answer, streamed to the terminal, or a conversation.

#include <cstdio>

#include "base/status.h"
#include "cli/options.h"

namespace godwit {

/// Writes the answer's text to `out` as it comes; without a prompt, see run_chat().
Status run_prompt(const RunCommand& command, std::FILE* out);

}  // namespace godwit
